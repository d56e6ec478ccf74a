"""Lessons over the cap lie on pages: a question finds them, boot does not show them, and none is
lost.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import anyio
import pytest
from fleets import LOOK, NOW, consolidate, fleet_on, learn, learn_text, lesson, open_pair

from fleet_memory.errors import PatternNotFoundError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.check import check_memory
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.reembedding import reembed_fleet
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Json, Query, Store, Write
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import memory_health
from fleet_memory.tools.state import DecayPatch, forget_memory, update_program_state
from tests.fleets import at
from tests.moving import bring, export_to, known_to_agents

pytestmark = pytest.mark.anyio

OLD = ("ash", "birch", "cedar", "dogwood")  # stored first, so that the cap moves them out first
NEW = ("elm", "fir", "gorse")
LATER = NOW + timedelta(days=1)


@pytest.fixture
async def fleet(store: Store) -> Fleet:
    """A fleet in which basher keeps 3 of its 7 lessons; the others are on a page."""
    await update_program_state(fleet_on(store), "basher", decay_config=cap(3))
    await learn(fleet_on(store), "basher", *OLD)
    fleet = fleet_on(store, LATER)
    await learn(fleet, "basher", *NEW)
    return fleet


def cap(patterns: int) -> DecayPatch:
    return DecayPatch.model_validate({"maxUnpromotedPatterns": patterns})


async def recalled(
    fleet: Fleet, program: str = "basher", query: str | None = None
) -> dict[str, bool | None]:
    answer = await recall_memory(fleet, program, query=query, scope="own")
    return {one.id: one.archived for one in answer.patterns}


async def pages(fleet: Fleet) -> list[int]:
    """The number of lessons on each page of the fleet."""
    documents = await fleet.programs.store.find(Query(fleet.programs.paths.pages))
    return [len(cast("dict[str, Json]", document.fields["patterns"])) for document in documents]


def uncounted(_done: int, _total: int) -> None:
    """Count nothing."""


async def test_a_lesson_over_the_cap_is_found_by_a_question_only(fleet: Fleet) -> None:
    assert (await recalled(fleet), await pages(fleet)) == (dict.fromkeys(NEW), [4])
    for name in OLD:
        assert (await recalled(fleet, query=f"Lesson {name}"))[name] is True
    assert (await recalled(fleet, query="Lesson elm"))["elm"] is None
    boot = await gsp_bootstrap(fleet, "basher", depth="full")
    assert {one.id for one in boot.patterns} == set(NEW)
    health = await memory_health(fleet, "basher")
    assert (health.total_patterns, health.stale_patterns, health.freshness.pending) == (7, 0, 7)


async def test_a_store_at_the_cap_names_the_lesson_that_moves_out(fleet: Fleet) -> None:
    (answer,) = await learn(fleet, "basher", "hazel")
    assert ([one.id for one in answer.evicted], answer.patterns_count) == (["elm"], 8)
    assert await list_archive(fleet, "basher") == []


async def test_a_lesson_on_a_page_comes_back_when_it_is_stored_again_or_confirmed(
    fleet: Fleet,
) -> None:
    fleet = at(fleet, LATER + timedelta(hours=1))
    (again,) = await learn(fleet, "basher", "ash")
    assert (again.status, [one.id for one in again.evicted]) == ("reinforced", ["elm"])
    await reinforce_memory(fleet, "basher", "birch")
    assert (set(await recalled(fleet)), await pages(fleet)) == ({"ash", "birch", "gorse"}, [4])


async def test_equal_words_under_another_id_find_the_lesson_on_its_page(fleet: Fleet) -> None:
    sent = lesson("cedar").model_copy(update={"id": "other"})
    answer = await store_memory(fleet, "basher", sent)
    assert (answer.status, answer.duplicate_of) == ("reinforced", "cedar")
    assert (await reinforce_memory(fleet, "basher", "other")).pattern_id == "cedar"


async def test_a_lesson_on_a_page_is_forgotten_by_its_id_and_the_last_takes_the_page_along(
    fleet: Fleet,
) -> None:
    for name in OLD:
        await forget_memory(fleet, "basher", name, "moved")
    assert (await pages(fleet), set(await recalled(fleet))) == ([], set(NEW))
    assert sorted(str(row["patternId"]) for row in await list_archive(fleet, "basher")) == sorted(
        OLD
    )
    with pytest.raises(PatternNotFoundError):
        await forget_memory(fleet, "basher", "ash", "moved")


async def test_a_lesson_on_a_page_becomes_knowledge_and_stays_there(fleet: Fleet) -> None:
    await learn(fleet, "sark", "birch")
    assert [one.pattern for one in (await consolidate(fleet)).promoted] == ["Lesson birch"]
    program = await fleet.programs.read_whole("basher")
    assert (program.patterns["birch"].promoted, program.paged["birch"].promoted) == (True, True)
    assert await fleet.programs.count_pending() == 0
    assert (await memory_health(fleet, "basher")).promoted_patterns == 1
    assert (await recalled(fleet, query="Lesson birch"))["birch"] is True


async def test_a_lesson_on_a_page_is_asked_about_and_judged(store: Store, fleet: Fleet) -> None:
    await learn_text(fleet, "basher", LOOK)
    for name in NEW:
        await reinforce_memory(fleet_on(store, LATER + timedelta(hours=1)), "basher", name)
    assert "claims" in (await fleet.programs.read("basher")).unread
    pair_id = await open_pair(fleet, "basher", "sark")
    verdicts = [NewVerdict.model_validate({"pairId": pair_id, "verdict": "same"})]
    for name in ("basher", "sark"):
        (judged,) = await judge(fleet, Judge(name), verdicts)
        assert isinstance(judged, Judged), judged
    program = await fleet.programs.read_whole("basher")
    assert (program.paged["claims"].promoted, program.patterns["claims"].promoted) == (True, True)


async def test_a_lesson_comes_back_from_the_archive_of_a_program_with_pages(fleet: Fleet) -> None:
    for name in ("ash", "elm"):
        await forget_memory(fleet, "basher", name, "by mistake")
    assert (await restore_archived(fleet, "basher", "ash"))["restored"] is True
    assert (set(await recalled(fleet)), await pages(fleet)) == ({"ash", "fir", "gorse"}, [3])
    assert (await restore_archived(fleet, "basher", "elm"))[
        "restored"
    ] is True  # the weakest moves for it
    assert (set(await recalled(fleet)), await pages(fleet)) == (set(NEW), [4])


async def test_a_program_of_the_version_before_has_no_pages_until_its_cap_needs_one(
    store: Store,
) -> None:
    fleet = fleet_on(store)
    await update_program_state(fleet, "basher", decay_config=cap(2))
    await learn(fleet, "basher", "ash", "birch")
    (document,) = await store.get(fleet.programs.paths.program("basher"))
    assert document is not None
    await store.commit(Write(document.ref, {"paged": None}, document.revision))
    older = fleet_on(store, LATER)
    await learn(older, "basher", "cedar")
    assert (len((await older.programs.read_whole("basher")).patterns), await pages(older)) == (
        3,
        [1],
    )


async def test_a_faded_lesson_on_a_page_is_swept_into_the_archive(
    fleet: Fleet, store: Store
) -> None:
    report = await maintain_fleet(fleet_on(store, NOW + timedelta(days=180, hours=1)), no_progress)
    assert sorted(one.pattern_id for one in report.archived) == sorted(OLD)
    assert await pages(fleet) == []


async def test_new_vectors_reach_the_pages(store: Store, fleet: Fleet) -> None:
    class Renamed(Lexical):
        name = "lexical/test"

    renamed = Fleet.on(store, "default", Renamed(), lambda: LATER)
    await reembed_fleet(renamed, uncounted)
    program = await fleet.programs.read_whole("basher")
    assert ({one.embedder for one in program.patterns.values()}, len(program.paged)) == (
        {"lexical/test"},
        4,
    )


async def test_a_lower_cap_moves_lessons_out_and_a_higher_one_brings_them_back(
    fleet: Fleet,
) -> None:
    done = await update_program_state(fleet, "basher", decay_config=cap(1))
    assert ([one.id for one in done.archived or ()], await pages(fleet)) == (["elm", "fir"], [6])
    await update_program_state(fleet, "basher", decay_config=cap(10))
    assert (set(await recalled(fleet)), await pages(fleet)) == ({*OLD, *NEW}, [])


async def test_an_export_takes_pages_along(fleet: Fleet, tmp_path: Path) -> None:
    file, store = tmp_path / "memory.jsonl", fleet.programs.store
    await export_to(fleet, file)
    copy = fleet_on(store, LATER + timedelta(days=1), "copy")
    assert (await bring(copy, file)).is_complete
    originals = known_to_agents(await fleet.programs.read_whole("basher"))
    assert known_to_agents(await copy.programs.read_whole("basher")) == originals
    await learn(copy, "basher", "hazel")
    assert (await bring(copy, file)).written == 0
    assert (set((await copy.programs.read_whole("basher")).patterns), await pages(copy)) == (
        {*OLD, *NEW, "hazel"},
        [5],
    )
    assert (await check_memory(store, "copy", Lexical())).healthy


async def test_deleting_a_program_archives_the_lessons_of_its_pages(fleet: Fleet) -> None:
    deleted = await delete_program(fleet, "basher")
    assert (deleted.patterns, await pages(fleet)) == (7, [])
    assert sorted(str(row["patternId"]) for row in await list_archive(fleet, "basher")) == sorted(
        (*OLD, *NEW)
    )


async def test_two_servers_that_store_at_the_cap_lose_nothing(
    fleet: Fleet, open_store: Callable[[], Store]
) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(2):
            server = fleet_on(open_store(), LATER)
            tasks.start_soon(learn, server, "basher", *(f"oak{number}{n}" for n in range(10)))
    program = await fleet.programs.read_whole("basher")
    assert (len(program.patterns), len(program.active), await pages(fleet)) == (27, 3, [24])


async def test_a_server_sees_the_lessons_that_another_has_moved_since(
    fleet: Fleet, open_store: Callable[[], Store]
) -> None:
    first, second = fleet, fleet_on(open_store(), LATER)
    for turn in range(3):
        await learn(first, "basher", f"oak{turn}")
        assert (await recalled(second, query=f"Lesson oak{turn}"))[f"oak{turn}"] is None
        await reinforce_memory(second, "basher", OLD[turn])
        assert (await recalled(first, query=f"Lesson {OLD[turn]}"))[OLD[turn]] is None
