"""A call that needs no vector loads no model: it checks which engine would answer."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.similarity.lexical import Fallback, Lexical
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.health import fleet_health, memory_health
from tests.fleets import learn

pytestmark = pytest.mark.anyio


class Loading(Lexical):
    """An engine that counts how often it would have loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = 0

    async def ready(self) -> None:
        self.loads += 1

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        self.loads += 1
        return await super().vectors(texts)


class Unloadable(Loading):
    """An engine that passes its check and does not load."""

    name = "unloadable/1"

    async def ready(self) -> None:
        raise EmbedderError("It does not load.", operator_detail="for a reason that no check finds")


class Silent(Lexical):
    """An engine that does not answer."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError("It does not answer.", operator_detail=f"{len(texts)} texts")


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet with an entry and two lessons, all with vectors."""
    for program, text in (
        ("basher", "Pin versions"),
        ("sark", "Pin versions"),
        ("sark", "Rotate the log files"),
    ):
        await learn(fleet, program, text, id_=text[:3])
    await maintain_fleet(fleet, no_progress)
    return fleet


async def test_health_and_a_maintenance_run_without_new_texts_load_no_model(fleet: Fleet) -> None:
    engine = Loading()
    there = replace(fleet, embedder=Fallback(engine))
    assert (await memory_health(there, "basher")).total_patterns == 1
    assert (await fleet_health(there)).programs == 2
    await maintain_fleet(there, no_progress)
    await maintain_fleet(there, no_progress, rebuild=True)
    assert engine.loads == 0


async def test_an_engine_that_passes_its_check_and_does_not_load_gives_its_name_to_no_vector(
    fleet: Fleet,
) -> None:
    await learn(replace(fleet, embedder=Silent()), "iso", "Read the release notes")
    assert (await embedders_of(fleet, "iso")) == {""}
    await pattern_consolidate(replace(fleet, embedder=Fallback(Unloadable())), no_progress)
    assert (await embedders_of(fleet, "iso")) == {Lexical.name}


async def embedders_of(fleet: Fleet, program_id: str) -> set[str]:
    return {lesson.embedder for lesson in (await fleet.programs.read(program_id)).patterns.values()}
