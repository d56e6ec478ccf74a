import logging
from collections.abc import Sequence
from pathlib import Path

import anyio
import numpy as np
import pytest

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import Profile
from fleet_memory.similarity.lexical import Fallback, Lexical
from fleet_memory.similarity.minilm import MiniLM
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio


class Tiring:
    """An engine that answers a given number of times, then no more."""

    name = "tiring/1"
    profile = Profile(related=0.5)
    degraded = ""

    def __init__(self, answers: int) -> None:
        self.answers = answers

    async def check(self) -> None: ...

    async def ready(self) -> None:
        await self.vectors(["Does it load?"])

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        self.answers -= 1
        if self.answers < 0:
            raise EmbedderError("tired", operator_detail="it sleeps")
        return np.ones((len(texts), 1), np.float32)


async def test_an_engine_that_loads_answers_under_its_own_name() -> None:
    fallback = Fallback(Tiring(answers=2))
    assert (await fallback.vectors(["a", "b"])).tolist() == [[1.0], [1.0]]
    assert (fallback.name, fallback.profile, fallback.degraded) == (
        "tiring/1",
        Profile(related=0.5),
        "",
    )


async def test_letters_stand_in_for_an_engine_that_does_not_load(tmp_path: Path) -> None:
    fallback = Fallback(MiniLM(tmp_path))
    found = await fallback.vectors(["Run the tests"])
    assert np.array_equal(found, await Lexical().vectors(["Run the tests"]))
    assert (fallback.name, fallback.profile) == (Lexical.name, Lexical.profile)
    assert fallback.degraded.startswith("The embedder minilm-l6-v2/int8/1 could not be loaded")
    assert str(tmp_path) not in fallback.degraded


async def test_the_stand_in_is_announced_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fallback = Fallback(MiniLM(tmp_path))
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for text in "abc":
                tasks.start_soon(fallback.vectors, [text])
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_the_stand_in_stays_when_the_engine_would_recover() -> None:
    engine = Tiring(answers=0)
    fallback = Fallback(engine)
    await fallback.vectors(["a"])
    engine.answers = 9
    await fallback.vectors(["b"])
    assert (fallback.name, engine.answers) == (Lexical.name, 9)


async def test_an_engine_that_fails_after_loading_raises_instead_of_mixing_vectors() -> None:
    fallback = Fallback(Tiring(answers=2))
    await fallback.vectors(["a"])
    with pytest.raises(EmbedderError, match="tired"):
        await fallback.vectors(["b"])
    assert (fallback.name, fallback.degraded) == ("tiring/1", "")


async def test_an_engine_that_is_ready_has_its_final_name(tmp_path: Path) -> None:
    fallback = Fallback(MiniLM(tmp_path))
    await fallback.ready()
    assert fallback.name == Lexical.name


async def test_a_check_falls_back_where_files_are_missing_and_an_engine_that_passes_may_still_fail(
    tmp_path: Path,
) -> None:
    missing, failing = Fallback(MiniLM(tmp_path)), Fallback(Tiring(answers=0))
    await missing.check()
    await failing.check()
    assert (missing.name, failing.name, failing.degraded) == (Lexical.name, "tiring/1", "")
    await failing.ready()
    assert failing.name == Lexical.name
