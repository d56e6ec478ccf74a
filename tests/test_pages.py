"""Pages as documents: reads while lessons move, pages that are gone or cannot be read, and changes
in one batch.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import anyio
import pytest

from fleet_memory.errors import ConflictError, DocumentRejectedError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.check import check_memory
from fleet_memory.repositories.blocks import PROGRAMS_PER_BLOCK
from fleet_memory.repositories.programs import VersionedChange
from fleet_memory.rules.lifecycle.paging import paged_lesson
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.programs import MAX_PAGES, DecayConfig, Program
from fleet_memory.server.forwarding_store import ForwardingStore
from fleet_memory.stores import Document, Query, Ref, Store, Write
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.session.commit_session import SessionReport, commit_session
from fleet_memory.tools.shared import EvictedPattern
from fleet_memory.tools.state import DecayPatch, forget_memory, update_program_state
from tests.fleets import NOW, at, interrupted, learn, on, writing
from tests.lessons import new_pattern, pattern, program

pytestmark = pytest.mark.anyio

OLD, NEW = ("ash", "birch"), ("elm", "fir")


class MovingStore(ForwardingStore):
    """A store on which something happens once, just before the first read of a page."""

    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(store)
        self._meanwhile = [meanwhile]

    async def get(self, *refs: Ref) -> list[Document | None]:
        if self._meanwhile and any(ref.collection.endswith("/pages") for ref in refs):
            await self._meanwhile.pop()()
        return await super().get(*refs)


class WatchedStore(ForwardingStore):
    """A store that notes how many documents each call reads at most."""

    most = 0

    async def get(self, *refs: Ref) -> list[Document | None]:
        self.most = max(self.most, len(refs))
        return await super().get(*refs)

    async def find(self, query: Query) -> list[Document]:
        found = await super().find(query)
        self.most = max(self.most, len(found))
        return found


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet in which basher has two lessons on a page and two that are on none."""
    await update_program_state(
        fleet, "basher", decay_config=DecayPatch.model_validate({"maxUnpromotedPatterns": 2})
    )
    for names, moment in ((OLD, NOW), (NEW, NOW + timedelta(days=1))):
        for name in names:
            await learn(at(fleet, moment), "basher", f"Lesson {name}", id_=name)
    return at(fleet, NOW + timedelta(days=1, hours=1))


async def whole(fleet: Fleet) -> Program:
    return await fleet.programs.read_whole("basher")


async def recalled(fleet: Fleet, query: str) -> set[str]:
    return {
        one.id for one in (await recall_memory(fleet, "basher", query=query, scope="own")).patterns
    }


async def test_a_lesson_that_moves_while_its_page_is_read_is_found(fleet: Fleet) -> None:
    for meanwhile in (
        lambda: reinforce_memory(fleet, "basher", "ash"),  # to the program's own document
        lambda: learn(fleet, "basher", "Lesson oak", id_="oak"),  # another one to the page
        lambda: reinforce_memory(fleet, "basher", "birch"),
    ):
        moving = on(fleet, MovingStore(fleet.programs.store, meanwhile))
        program = await whole(moving)
        assert (program.patterns.keys() >= {*OLD, *NEW}, program.is_whole) == (True, True)


async def test_a_lesson_that_moves_while_a_block_of_programs_is_read_is_in_it(fleet: Fleet) -> None:
    moving = on(
        fleet, MovingStore(fleet.programs.store, lambda: reinforce_memory(fleet, "basher", "ash"))
    )
    (versioned,) = await moving.programs.all()
    assert (set(versioned.program.patterns), versioned.lost) == ({*OLD, *NEW}, {})


async def test_a_store_at_the_cap_that_loses_its_race_decides_again(fleet: Fleet) -> None:
    racing = interrupted(
        fleet, writing("pages"), lambda: learn(fleet, "basher", "Lesson oak", id_="oak")
    )
    await learn(racing, "basher", "Lesson yew", id_="yew")
    program = await whole(fleet)
    assert (set(program.patterns), len(program.active)) == ({*OLD, *NEW, "oak", "yew"}, 2)


async def test_a_confirmation_names_the_lesson_that_moves_out_for_the_confirmed_one(
    fleet: Fleet,
) -> None:
    assert (await reinforce_memory(fleet, "basher", "ash")).evicted == (
        EvictedPattern(id="elm", domain="tasks", pattern="Lesson elm"),
    )
    assert "evicted" not in (await reinforce_memory(fleet, "basher", "ash")).wire()
    report = SessionReport.model_validate({"patternId": "birch", "outcome": "confirmed"})
    (said,) = (await commit_session(fleet, "basher", reinforcements=(report,))).reinforcements or ()
    assert said.evicted == (EvictedPattern(id="fir", domain="tasks", pattern="Lesson fir"),)


async def test_a_commit_writes_the_program_and_its_pages_or_nothing(fleet: Fleet) -> None:
    (before,) = await fleet.programs.read_versioned("basher")
    await learn(fleet, "basher", "Lesson oak", id_="oak")
    after = replace(before.program, paged={}, changes=9)
    with pytest.raises(ConflictError):
        await fleet.programs.commit([VersionedChange(before, after)])
    assert set((await whole(fleet)).paged) == {*OLD, "elm"}


async def test_changes_that_wait_for_one_program_share_its_pages(fleet: Fleet) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(learn_as, fleet, f"oak{number}")
        tasks.start_soon(forget_memory, fleet, "basher", "ash", "no")
        tasks.start_soon(reinforce_memory, fleet, "basher", "birch")
        boots = [await gsp_bootstrap(fleet, "basher", depth="full")]
    boots.append(await gsp_bootstrap(fleet, "basher", depth="full"))
    program = await whole(fleet)
    assert (len(program.patterns), len(program.active)) == (4 + 20 - 1, 2)
    assert [len(boot.patterns) for boot in boots] == [2, 2]


async def learn_as(fleet: Fleet, name: str) -> None:
    await learn(fleet, "basher", f"Lesson {name}", id_=name)


async def test_a_session_reinforces_lessons_on_pages_and_stores_beyond_the_cap(
    fleet: Fleet,
) -> None:
    done = await commit_session(
        fleet,
        "basher",
        patterns=tuple(new_pattern(f"Lesson {name}") for name in "xy"),
        reinforcements=tuple(
            SessionReport.model_validate({"patternId": name}) for name in ("ash", "unknown")
        ),
    )
    assert (done.failed, done.patterns_count) == (1, 6)
    assert [len(one.evicted or ()) for one in done.patterns or ()] == [1, 1]


async def test_a_page_that_is_gone_takes_its_lessons_and_nothing_else(fleet: Fleet) -> None:
    paths = fleet.programs.paths
    await fleet.programs.store.commit(Write(paths.page("basher", 1), None))
    assert await recalled(fleet, "Lesson elm") == set(NEW)
    report = await check_memory(fleet.programs.store, "default", fleet.embedder)
    assert report.rows["unreadable"] == [
        "pages of basher: lessons that they should have are gone: 2"
    ]
    await learn(fleet, "basher", "Lesson oak", id_="oak")
    await learn(fleet, "basher", "Lesson ash", id_="ash")
    program = await whole(fleet)
    assert set(program.patterns) == {*NEW, "oak", "ash"}
    assert program.is_whole
    assert (await check_memory(fleet.programs.store, "default", fleet.embedder)).healthy


async def test_a_page_that_cannot_be_read_stops_questions_and_no_store(fleet: Fleet) -> None:
    ref = fleet.programs.paths.page("basher", 1)
    await fleet.programs.store.commit(Write(ref, {"patterns": {"k": "no pattern"}}))
    with pytest.raises(DocumentRejectedError, match="basher_7e_1"):
        await recalled(fleet, "Lesson elm")
    await learn(fleet, "basher", "Lesson oak", id_="oak")
    await learn(fleet, "sark", "Lesson oak")
    await pattern_consolidate(fleet, no_progress)
    report = await check_memory(fleet.programs.store, "default", fleet.embedder)
    assert report.rows["unreadable"] == ["pages/basher_7e_1 cannot be read: ValidationError"]


async def test_programs_are_counted_without_their_pages(fleet: Fleet) -> None:
    assert (await fleet.programs.count(), await fleet.programs.count_pending()) == (1, 4)
    documents = await fleet.programs.store.find(Query(fleet.programs.paths.programs))
    assert [document.ref.id for document in documents] == ["basher"]
    assert [one.program.patterns_count for one in await fleet.programs.all()] == [4]
    assert await fleet.programs.map_latest(lambda program: program.is_whole, 9) == [False]


async def test_a_job_reads_whole_programs_and_keeps_none_decoded(fleet: Fleet) -> None:
    server = on(fleet, fleet.programs.store)
    (read,) = await server.programs.read_many("basher")
    program = await whole(server)
    assert read.program == program
    assert set(program.patterns) == {*OLD, *NEW}
    assert not any(
        program.patterns[id_] is pattern for id_, pattern in read.program.patterns.items()
    )


async def test_a_job_stops_at_a_page_that_cannot_be_read(fleet: Fleet) -> None:
    ref = fleet.programs.paths.page("basher", 1)
    await fleet.programs.store.commit(Write(ref, {"patterns": {"k": "no pattern"}}))
    with pytest.raises(DocumentRejectedError, match="basher_7e_1"):
        await fleet.programs.read_many("basher")


async def test_a_large_fleet_is_read_in_small_blocks_of_whole_programs(fleet: Fleet) -> None:
    lessons = [pattern(id=name) for name in OLD]
    paged = {one.id: paged_lesson(one, number) for number, one in enumerate(lessons, 1)}
    stored = program(
        pattern(id="own"), *lessons, paged=paged, decay=DecayConfig(max_unpromoted_patterns=1)
    )
    for n in range(2 * PROGRAMS_PER_BLOCK):
        await fleet.programs.update(
            f"p{n}",
            lambda before: ProgramChange(replace(stored, program_id=before.program_id)),
            NOW,
        )
    store = WatchedStore(fleet.programs.store)
    read = [
        one.program
        async for block in on(fleet, store).programs.in_blocks()
        for one in block.programs
    ]
    assert (len(read), store.most) == (2 * PROGRAMS_PER_BLOCK + 1, MAX_PAGES * PROGRAMS_PER_BLOCK)
    assert all(one.is_whole for one in read)
    due = [one.program for one in (await on(fleet, store).programs.due_for_sweep(100)).programs]
    assert (len(due), store.most) == (2 * PROGRAMS_PER_BLOCK + 1, 2 * PROGRAMS_PER_BLOCK + 1)
    assert all(one.is_whole for one in due)
