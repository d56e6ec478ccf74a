"""Answers name the lessons that the cap moved out: few, those in the archive first, and a count of
the others.
"""

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.programs import DecayConfig, Program
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.session.commit_session import commit_session
from fleet_memory.tools.shared import MAX_OF_A_KIND
from fleet_memory.tools.state import DecayPatch, update_program_state
from tests.fleets import NOW, at
from tests.lessons import new_pattern, pattern, program
from tests.test_paging import CAP, with_full_pages

pytestmark = pytest.mark.anyio

COUNT = CAP + MAX_OF_A_KIND + 5
LOWER = DecayPatch.model_validate({"maxUnpromotedPatterns": CAP})


async def put(fleet: Fleet, stored: Program) -> Fleet:
    fleet = at(fleet, NOW)
    await fleet.programs.update("basher", lambda _: ProgramChange(stored), NOW)
    return fleet


def many(cap: int) -> Program:
    """A program with lessons p0, p1 ... from the weakest to the strongest, more than its cap if
    that fell.
    """
    lessons = [pattern(f"Lesson {n}", id=f"p{n}", confidence=(n + 1) / COUNT) for n in range(COUNT)]
    return program(*lessons, decay=DecayConfig(max_unpromoted_patterns=cap))


async def test_a_lower_cap_names_the_weakest_lessons_and_counts_the_others(fleet: Fleet) -> None:
    fleet = await put(fleet, many(COUNT))
    answer = await update_program_state(fleet, "basher", decay_config=LOWER)
    weakest = [(f"p{n}", None) for n in range(MAX_OF_A_KIND)]
    assert [(one.id, one.in_archive) for one in answer.archived or ()] == weakest
    assert (answer.omitted, (await fleet.programs.read("basher")).patterns_count) == (5, COUNT)


async def test_a_store_far_over_the_cap_names_as_many(fleet: Fleet) -> None:
    fleet = await put(fleet, many(CAP))
    answer = await store_memory(fleet, "basher", new_pattern())
    assert (len(answer.evicted), answer.omitted) == (MAX_OF_A_KIND, 6)


async def test_a_session_far_over_the_cap_names_as_many(fleet: Fleet) -> None:
    fleet = await put(fleet, many(CAP))
    sent = (new_pattern("Lesson a"), new_pattern("Lesson b"))
    first, second = (await commit_session(fleet, "basher", patterns=sent)).patterns or ()
    assert (len(first.evicted or ()), first.omitted) == (MAX_OF_A_KIND, 6)
    assert (len(second.evicted or ()), second.omitted) == (1, None)


async def test_the_lessons_that_full_pages_leave_to_the_archive_are_marked(fleet: Fleet) -> None:
    fleet = await put(fleet, with_full_pages(0))
    answer = await store_memory(fleet, "basher", new_pattern())
    whole = await fleet.programs.read_whole("basher")
    assert {(one.in_archive, whole.has(one.id)) for one in answer.evicted} == {(True, False)}
