"""Lessons over the cap are on a page for every reader at once; their documents move several at a
time.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.repositories.program_codec import pattern_key
from fleet_memory.rules.lifecycle.paging import (
    MAX_OUTGOING_BYTES,
    OUTGOING_SHARE,
    outgoing,
    paged_lesson,
)
from fleet_memory.schemas.programs import DecayConfig
from fleet_memory.schemas.state import DecayPatch
from fleet_memory.stores import Json, Query, Write
from fleet_memory.tools.forget_memory import forget_memory
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.health import memory_health
from fleet_memory.tools.recall_memory import recall_memory
from fleet_memory.tools.reinforce_memory import reinforce_memory
from fleet_memory.tools.update_program_state import update_program_state
from tests.fleets import NOW, at, learn, on
from tests.lessons import pattern, program
from tests.moving import bring, export_to
from tests.older import migrated

pytestmark = pytest.mark.anyio

CAP = 3 * OUTGOING_SHARE
OUTGOING = 3


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet in which basher is two lessons over its cap: l0 and l1 are on a page, and stored in
    its document.
    """
    patch = DecayPatch.model_validate({"maxUnpromotedPatterns": CAP})
    await update_program_state(fleet, "basher", decay_config=patch)
    for number in range(CAP + 2):
        await store(fleet, number)
    return at(fleet, NOW + timedelta(hours=2))


async def store(fleet: Fleet, number: int) -> None:
    moment = at(fleet, NOW + timedelta(minutes=number))
    await learn(moment, "basher", f"Wait for queue {number}", id_=f"l{number}")


async def on_pages(fleet: Fleet) -> list[int]:
    """The number of lessons in each document of a page."""
    documents = await fleet.programs.store.find(Query(fleet.programs.paths.pages))
    return [len(cast("dict[str, Json]", document.fields["patterns"])) for document in documents]


async def known(fleet: Fleet) -> tuple[set[str], set[str]]:
    """The lessons of basher that are at hand, and those on pages, to a server that has read nothing
    yet.
    """
    whole = await on(fleet, fleet.programs.store).programs.read_whole("basher")
    assert whole.is_whole
    return set(whole.active), set(whole.paged)


def names(numbers: Sequence[int]) -> set[str]:
    return {f"l{number}" for number in numbers}


async def test_lessons_over_the_cap_are_on_a_page_at_once_and_move_several_at_a_time(
    fleet: Fleet,
) -> None:
    moved = []
    for number in range(CAP + 2, CAP + 9):
        await store(fleet, number)
        assert await known(fleet) == (
            names(range(number - CAP + 1, number + 1)),
            names(range(number - CAP + 1)),
        )
        moved.append(await on_pages(fleet))
    assert moved == [[], [4], [4], [4], [4], [8], [8]]
    assert (await check_memory(fleet.programs.store, "default", fleet.embedder)).healthy


async def test_a_lesson_that_has_not_moved_yet_is_found_by_a_question_only(fleet: Fleet) -> None:
    own = await recall_memory(fleet, "basher", scope="own", limit=100)
    assert {lesson.id for lesson in own.patterns} == names(range(2, CAP + 2))
    asked = await recall_memory(fleet, "basher", query="Wait for queue 0", scope="own")
    assert {lesson.id: lesson.archived for lesson in asked.patterns}["l0"] is True
    boot = await gsp_bootstrap(fleet, "basher", depth="full")
    assert not {lesson.id for lesson in boot.patterns} & {"l0", "l1"}
    health = await memory_health(fleet, "basher")
    assert (health.total_patterns, health.freshness.pending) == (CAP + 2, CAP + 2)


async def test_a_lesson_that_has_not_moved_yet_comes_back_and_is_forgotten_as_one_of_a_page(
    fleet: Fleet,
) -> None:
    answer = await reinforce_memory(fleet, "basher", "l0")
    assert [lesson.id for lesson in answer.evicted or ()] == ["l2"]
    assert await known(fleet) == ({"l0", *names(range(3, CAP + 2))}, {"l1", "l2"})
    await learn(fleet, "basher", "Wait for queue 1", id_="other")
    assert (await known(fleet))[1] == {"l2", "l3"}
    await forget_memory(fleet, "basher", "l2", "no use")
    assert ((await known(fleet))[1], await on_pages(fleet)) == ({"l3"}, [])


async def test_an_export_takes_lessons_along_that_have_not_moved_yet(
    fleet: Fleet, tmp_path: Path
) -> None:
    await export_to(fleet, tmp_path / "fleet.jsonl")
    before = await known(fleet)
    (head,) = await fleet.programs.store.find(Query(fleet.programs.paths.programs))
    await fleet.programs.store.commit(Write(head.ref, None))
    await bring(fleet, tmp_path / "fleet.jsonl")
    assert await known(fleet) == before


async def test_a_mark_of_a_lesson_that_a_server_of_the_version_before_moved_is_ignored(
    fleet: Fleet,
) -> None:
    ref = fleet.programs.paths.program("basher")
    marks: dict[str, Json] = {pattern_key("l0"): 1, pattern_key("gone"): 1}
    await fleet.programs.store.commit(Write(ref, {"outgoing": marks}))
    assert (await known(fleet))[1] == {"l0"}
    await store(fleet, CAP + 2)
    (document,) = await fleet.programs.store.get(ref)
    assert document is not None
    assert set(cast("dict[str, Json]", document.fields["outgoing"])) == {
        pattern_key(f"l{n}") for n in range(3)
    }


async def test_lessons_of_pages_are_in_one_order_before_and_after_they_move(fleet: Fleet) -> None:
    await reinforce_memory(fleet, "basher", "l0")
    for number in range(CAP + 2, CAP + 4):
        await store(fleet, number)
    await reinforce_memory(fleet, "basher", "l0", outcome="contradicted")
    await store(fleet, CAP + 4)
    (whole,) = await fleet.programs.read_versioned("basher")
    assert (set(whole.outgoing), await on_pages(fleet)) == ({"l0"}, [4])
    assert list(whole.program.patterns)[-5:] == [f"l{number}" for number in range(5)]


async def test_check_names_a_page_with_a_lesson_that_has_not_moved_there_yet(fleet: Fleet) -> None:
    store, paths = fleet.programs.store, fleet.programs.paths
    (head,) = await store.get(paths.program("basher"))
    assert head is not None
    key = pattern_key("l0")
    copy: dict[str, Json] = {key: cast("dict[str, Json]", head.fields["patterns"])[key]}
    await store.commit(
        Write(paths.page("basher", 1), {"programId": "basher", "page": 1, "patterns": copy})
    )
    report = await check_memory(store, "default", fleet.embedder)
    assert report.rows["unreadable"] == [
        "pages/basher_7e_1: lessons that its program does not have there: 1"
    ]


async def test_a_migration_keeps_lessons_that_have_not_moved_yet(fleet: Fleet) -> None:
    ref = fleet.programs.paths.program("basher")
    await fleet.programs.store.commit(
        Write(ref, {"knowledgeSeen": 0})
    )  # as a document of the version before
    before = await fleet.programs.read_whole("basher")
    assert (await migrated(fleet)).programs == 1
    after = await fleet.programs.read_whole("basher")
    assert (after.patterns, set(after.paged)) == (before.patterns, names(range(2)))


def test_lessons_stay_outgoing_while_they_are_few_and_small() -> None:
    lessons = {f"l{number}": pattern(id=f"l{number}") for number in range(OUTGOING + 1)}
    paged = {id_: paged_lesson(lesson, 1) for id_, lesson in lessons.items()}
    whole = program(*lessons.values(), paged=paged, decay=DecayConfig(max_unpromoted_patterns=CAP))
    assert outgoing(lessons, whole) == {}
    few = replace(whole, paged={id_: lesson for id_, lesson in paged.items() if id_ != "l0"})
    assert outgoing(lessons, few) == {id_: lessons[id_] for id_ in few.paged}
    large = {"l1": pattern("x" * MAX_OUTGOING_BYTES, id="l1")}
    assert outgoing(large, replace(few, patterns=large)) == {}
