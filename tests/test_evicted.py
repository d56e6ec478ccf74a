"""Answers name the lessons that left for the archive: few, and a count of the others."""

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.retrying import commit_settled
from fleet_memory.schemas.programs import MAX_PATTERNS
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.session import SessionNote, SessionReport, commit_session
from fleet_memory.tools.shared import MAX_OF_A_KIND
from fleet_memory.tools.state import write_note
from tests.fleets import NOW, at
from tests.lessons import new_pattern, pattern, program
from tests.shared import shared_entry

pytestmark = pytest.mark.anyio

OVER = MAX_OF_A_KIND + 5


async def overfull(fleet: Fleet, over: int) -> Fleet:
    """Store lessons p0, p1 ... from the weakest to the strongest, `over` more than there is room."""
    count = MAX_PATTERNS + over
    lessons = [pattern(f"Lesson {n}", id=f"p{n}", confidence=(n + 1) / count) for n in range(count)]
    (before,) = await fleet.programs.read_versioned("basher")
    await commit_settled(fleet.store, *fleet.programs.writes(before, program(*lessons)))
    return at(fleet, NOW)


async def test_a_store_into_a_full_memory_names_the_lesson_that_left_and_archives_it(
    fleet: Fleet,
) -> None:
    fleet = await overfull(fleet, 0)
    answer = await store_memory(fleet, "basher", new_pattern())
    assert [one.id for one in answer.evicted or ()] == ["p0"]
    assert (answer.omitted, answer.patterns_count) == (None, MAX_PATTERNS)
    asked = await recall_memory(fleet, "basher", query="lesson", limit=1)
    assert (asked.left, (await recall_memory(fleet, "basher")).left) == (
        {"archived": 1},
        None,
    )


async def test_a_store_far_over_the_room_counts_the_others(fleet: Fleet) -> None:
    fleet = await overfull(fleet, OVER)
    answer = await store_memory(fleet, "basher", new_pattern())
    assert [one.id for one in answer.evicted or ()] == [f"p{n}" for n in range(MAX_OF_A_KIND)]
    assert answer.omitted == 6


async def test_a_session_names_as_many(fleet: Fleet) -> None:
    fleet = await overfull(fleet, OVER)
    sent = (new_pattern("Lesson a"), new_pattern("Lesson b"))
    answer = await commit_session(fleet, "basher", patterns=sent)
    assert (len(answer.evicted or ()), answer.omitted) == (MAX_OF_A_KIND, 7)


async def test_the_lessons_of_one_session_do_not_evict_each_other(fleet: Fleet) -> None:
    fleet = await overfull(fleet, 0)
    sent = [new_pattern(f"Guess {n}", id=f"g{n}", confidence=0.001) for n in range(3)]
    done = (await commit_session(fleet, "basher", patterns=tuple(sent))).evicted or ()
    assert [gone.id for gone in done] == ["p0", "p1", "p2"]
    assert {"g0", "g1", "g2"} <= (await fleet.programs.read("basher")).patterns.keys()


async def test_a_session_names_those_that_left_for_its_handoff_and_its_notes(fleet: Fleet) -> None:
    fleet = await overfull(fleet, 1)
    answer = await commit_session(fleet, "basher", handoff="Orders are next")
    assert ([one.id for one in answer.evicted or ()], answer.omitted) == (["p0"], None)
    assert (
        await commit_session(fleet, "basher", notes=(SessionNote(text="Port 8081"),))
    ).evicted is None


async def test_a_note_names_those_that_left_for_it(fleet: Fleet) -> None:
    fleet = await overfull(fleet, OVER)
    answer = await write_note(fleet, "basher", text="Port 8081 is taken")
    assert [one.id for one in answer.evicted or ()] == [f"p{n}" for n in range(MAX_OF_A_KIND)]
    assert (answer.status, answer.archived, answer.omitted) == ("added", None, 5)


async def test_a_word_names_those_that_left_for_it(fleet: Fleet) -> None:
    fleet = await overfull(fleet, 1)
    answer = await reinforce_memory(fleet, "basher", "p9", evidence="Seen once more")
    assert ([one.id for one in answer.evicted or ()], answer.omitted) == (["p0"], None)
    again = await reinforce_memory(fleet, "basher", "p9", evidence="And again")
    assert again.evicted is None


async def test_reading_lets_no_lesson_leave(fleet: Fleet) -> None:
    fleet = await overfull(fleet, 1)
    await shared_entry(fleet, "iso", "sark")
    await gsp_bootstrap(fleet, "basher")
    assert (await fleet.programs.read("basher")).read_version == 1
    assert await fleet.programs.archive.count_lessons() == 0


async def test_a_helpful_lesson_is_reinforced_before_new_lessons_may_evict_it(
    fleet: Fleet,
) -> None:
    fleet = await overfull(fleet, 0)
    word = SessionReport.model_validate({"patternId": "p0", "confidence": 0.9})
    done = await commit_session(
        fleet, "basher", patterns=(new_pattern("Something else"),), reinforcements=(word,)
    )
    assert [one.id for one in done.evicted or ()] == ["p1"]
