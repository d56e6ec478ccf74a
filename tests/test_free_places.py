"""Free places in a memory: the strongest lessons of its pages take them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.repositories.limits import MAX_PROGRAM_BYTES
from fleet_memory.repositories.program_codec import document_size
from fleet_memory.repositories.room import with_free_places_taken
from fleet_memory.rules.lifecycle.paging import paged_lesson
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.programs import DecayConfig
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.state import DecayPatch, forget_memory, update_program_state
from tests.fleets import NOW, at, learn
from tests.lessons import START, pattern, program

pytestmark = pytest.mark.anyio


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A program with eight lessons, one a day, the newest three at hand."""
    await update_program_state(
        fleet, "basher", decay_config=DecayPatch.model_validate({"maxUnpromotedPatterns": 3})
    )
    for n in range(8):
        await learn(at(fleet, NOW + timedelta(days=n)), "basher", f"Lesson {n}", id_=f"l{n}")
    return at(fleet, NOW + timedelta(days=8))


async def test_the_strongest_lessons_of_pages_take_the_places_of_forgotten_ones(
    fleet: Fleet,
) -> None:
    for n in (5, 6, 7):
        await forget_memory(fleet, "basher", f"l{n}", "done")
    memory = await fleet.programs.read_whole("basher")
    assert (sorted(memory.active), sorted(memory.paged)) == (["l2", "l3", "l4"], ["l0", "l1"])
    boot = await gsp_bootstrap(fleet, "basher", depth="full")
    assert sorted(one.id for one in boot.patterns) == ["l2", "l3", "l4"]


async def test_the_strongest_lessons_of_pages_take_the_places_of_faded_ones(fleet: Fleet) -> None:
    sure = [pattern(f"Sure {n}", id=f"sure{n}", confidence=0.9) for n in range(2)]
    newer = [
        pattern(
            f"Newer {n}",
            id=f"newer{n}",
            confidence=n / 10,
            last_reinforced=START + timedelta(days=5),
        )
        for n in range(3)
    ]
    paged = {one.id: paged_lesson(one, 1) for one in newer}
    full = replace(
        program(*sure, *newer, paged=paged, decay=DecayConfig(max_unpromoted_patterns=2)),
        program_id="fading",
    )
    await fleet.programs.update("fading", lambda _: ProgramChange(full), START)
    await maintain_fleet(at(fleet, START + timedelta(days=181)), no_progress)
    memory = await fleet.programs.read_whole("fading")
    assert (sorted(memory.active), sorted(memory.paged)) == (["newer1", "newer2"], ["newer0"])


def test_no_more_lessons_come_back_than_the_document_has_room_for() -> None:
    lessons = [
        pattern(f"Lesson {n}", id=f"l{n}", confidence=n / 500, evidence="e" * 2_800)
        for n in range(390)
    ]
    paged = {one.id: paged_lesson(one, 1 + n // 200) for n, one in enumerate(lessons)}
    before = program(*lessons, paged=paged, decay=DecayConfig(max_unpromoted_patterns=500))
    after = with_free_places_taken(before, START)
    assert MAX_PROGRAM_BYTES - 100_000 < document_size(after) <= MAX_PROGRAM_BYTES
    assert list(after.active) == [f"l{n}" for n in range(390 - len(after.active), 390)]
