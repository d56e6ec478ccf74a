"""The extra that development does without: what a server says when it, or its model, is missing."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_memory.errors import EmbedderError
from fleet_memory.server.composition import open_embedder
from fleet_memory.settings import load
from fleet_memory.similarity.fastembed import FastEmbed

pytestmark = pytest.mark.anyio

MISSING = "raise ImportError('not here')"
# What fastembed 0.9.1 raises, after 40 seconds, on a machine without a network
FAILED_DOWNLOAD = """
class TextEmbedding:
    def __init__(self, model_name: str, threads: int) -> None:
        raise ValueError(f"Could not load model {model_name} from any source.")
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what decides which source `import fastembed` runs, whether or not the real one is installed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fastembed", raising=False)

    def install(source: str) -> None:
        (tmp_path / "fastembed.py").write_text(source)

    return install


async def test_a_missing_package_names_the_extra(package: Callable[[str], None]) -> None:
    package(MISSING)
    with pytest.raises(EmbedderError, match=r"pip install 'fleet-memory\[fastembed\]'"):
        await FastEmbed("BAAI/bge-small-en-v1.5").vectors(["a"])


async def test_a_model_that_cannot_be_downloaded_is_named(package: Callable[[str], None]) -> None:
    package(FAILED_DOWNLOAD)
    with pytest.raises(EmbedderError, match="could not load some/model") as failure:
        await FastEmbed("some/model").vectors(["a"])
    assert failure.value.operator_detail == "Could not load model some/model from any source."


async def test_letters_stand_in_for_a_missing_package_and_say_what_to_install(package: Callable[[str], None]) -> None:
    package(MISSING)
    engine = open_embedder(load({"embedder": "fastembed:some/model"}, {}))
    assert len(await engine.vectors(["a"])) == 1
    assert engine.name == "lexical/1"
    assert engine.degraded.startswith("The embedder fastembed/some/model could not be loaded")
    assert "pip install 'fleet-memory[fastembed]'" in engine.degraded
