import base64
import hashlib
import json
import sys
from pathlib import Path

import anyio
import numpy as np
import pytest
from anyio.lowlevel import checkpoint

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import Profile
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import FOLDER, REMEMBERED, MiniLM
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

REFERENCE = (
    Path(__file__).parent / "data" / "minilm-fp32.jsonl"
)  # written by scripts/build_minilm.py


@pytest.fixture(scope="module")
def engine() -> Embedder:
    return MiniLM()


@pytest.fixture(scope="module")
def reference() -> tuple[list[str], Vectors]:
    """Texts and the float32 model's vectors of them."""
    lines = [json.loads(line) for line in REFERENCE.read_text().splitlines()]
    vectors = [np.frombuffer(base64.b64decode(line["vector"]), "<f2") for line in lines]
    return [line["text"] for line in lines], np.stack(vectors).astype(np.float32)


async def test_every_vector_is_close_to_that_of_the_unquantised_model(
    engine: Embedder, reference: tuple[list[str], Vectors]
) -> None:
    texts, expected = reference
    cosines = await engine.vectors(texts) @ expected.T
    assert cosines.diagonal().min() >= 0.95
    assert cosines.diagonal().mean() >= 0.985
    assert cosines.argmax(1).tolist() == list(range(len(texts)))


async def test_vectors_are_float32_rows_of_length_one(engine: Embedder) -> None:
    found = await engine.vectors(["Run the tests", "", "long " * 2000, "東京 🚀"])
    assert (found.shape, found.dtype.name) == ((4, 384), "float32")
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


async def test_no_texts_give_no_rows(engine: Embedder) -> None:
    assert (await engine.vectors([])).shape == (0, 384)


async def test_a_vector_does_not_depend_on_the_other_texts_of_its_batch() -> None:
    texts = [f"Retry {n} times, then tell {'the operator ' * n}" for n in range(1, 40)]
    together = await MiniLM().vectors(texts)
    alone = await MiniLM().vectors(texts[-1:])
    assert np.array_equal(together[-1:], alone)


async def test_a_text_given_twice_has_one_vector(engine: Embedder) -> None:
    first, other, again = await engine.vectors(["same", "other", "same"])
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


async def test_changing_a_returned_vector_does_not_change_the_cached_one(engine: Embedder) -> None:
    before = await engine.vectors(["Pin versions"])
    kept = before.copy()
    before[:] = 0
    assert np.array_equal(await engine.vectors(["Pin versions"]), kept)


async def test_it_remembers_a_text_for_as_long_as_the_next_five_hundred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert REMEMBERED == 512
    engine = MiniLM()
    before = await engine.vectors(["Pin versions"])
    monkeypatch.setattr(engine, "_engine", None)
    monkeypatch.setattr(engine, "_folder", Path("nowhere"))
    assert np.array_equal(await engine.vectors(["Pin versions"]), before)
    with pytest.raises(EmbedderError):
        await engine.vectors(["Read the log first"])


async def test_the_event_loop_turns_while_texts_are_embedded(engine: Embedder) -> None:
    turns = 0
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:

            async def embed() -> None:
                await engine.vectors([f"lesson number {n}" for n in range(32)])
                tasks.cancel_scope.cancel()

            tasks.start_soon(embed)
            while not tasks.cancel_scope.cancel_called:
                turns += 1
                await checkpoint()
    assert turns > 20


async def test_a_question_does_not_wait_behind_a_long_list(engine: Embedder) -> None:
    done: list[str] = []

    async def embed(name: str, texts: list[str]) -> None:
        await engine.vectors(texts)
        done.append(name)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(embed, "list", [f"a lesson about {n}" for n in range(80)])
            tasks.start_soon(embed, "question", ["how do I claim a task?"])
    assert done == ["question", "list"]


async def test_a_missing_file_is_an_error_that_names_no_path_to_the_agent(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).vectors(["text"])
    assert "FLEET_MEMORY_EMBEDDER=lexical" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert str(tmp_path) in caught.value.operator_detail


async def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text((FOLDER / "SHA256SUMS").read_text())
    (tmp_path / "minilm-int8.onnx").write_bytes(b"half a model")
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).vectors(["text"])
    assert caught.value.operator_detail == "ValueError: minilm-int8.onnx is damaged"


async def test_a_model_that_this_onnxruntime_cannot_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "minilm-int8.onnx").write_bytes(b"not a model")
    (tmp_path / "SHA256SUMS").write_text(
        f"{hashlib.sha256(b'not a model').hexdigest()}  minilm-int8.onnx\n"
    )
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).vectors(["text"])
    assert caught.value.operator_detail.startswith("InvalidProtobuf")


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
async def test_a_library_that_does_not_import_is_an_error_of_a_check_too(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    for call in (lambda: MiniLM().vectors(["text"]), MiniLM().check):
        with pytest.raises(EmbedderError) as caught:
            await call()
        assert library in caught.value.operator_detail


async def test_a_check_finds_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text((FOLDER / "SHA256SUMS").read_text())
    (tmp_path / "minilm-int8.onnx").write_bytes(b"half a model")
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).check()
    assert caught.value.operator_detail == "ValueError: minilm-int8.onnx is damaged"


def test_it_names_model_quantisation_and_version_and_stands_in_for_nothing(
    engine: Embedder,
) -> None:
    assert (engine.name, engine.profile, engine.degraded) == ("minilm-l6-v2/int8/1", Profile(), "")


def test_the_notice_names_the_hash_of_every_shipped_file() -> None:
    lines = (FOLDER / "SHA256SUMS").read_text().splitlines()
    notice = (FOLDER / "NOTICE").read_text()
    assert [line for line in lines if line not in notice] == []
    assert {line.split()[1] for line in lines} == {
        "minilm-int8.onnx",
        "tokenizer.json",
    }
    assert "Apache License" in (FOLDER / "LICENSE").read_text()
