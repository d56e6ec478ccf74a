"""Forgetting leaves nothing half done: entries keep their contributions, the archive and the
program agree.
"""

from collections.abc import Callable

import anyio
import pytest
from agents import agent
from fleets import consolidate, fleet_on, learn

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.restoration import restore_archived
from fleet_memory.repositories.records import archive_record
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from fleet_memory.stores import Store
from fleet_memory.tools.state import forget_memory
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

KEY = "pattern/domain-shared/lesson-shared"


async def restore(address: str, id_: str) -> dict[str, object]:
    settings = load({"store": address, "embedder": "lexical", "now": "2026-03-07T12:00:00Z"}, {})
    return await with_fleet(settings, lambda fleet: restore_archived(fleet, "basher", id_))


async def test_a_forgotten_lesson_takes_its_vote_along_until_it_is_learnt_again(
    store: Store,
) -> None:
    fleet = fleet_on(store)

    async def standing() -> tuple[list[str], bool]:
        (versioned,) = await fleet.knowledge.read_versioned(KEY)
        assert versioned.entry
        return [
            line.program_id for line in versioned.entry.provenance
        ], versioned.entry.is_published

    await learn(fleet, "basher", "shared")
    await learn(fleet, "sark", "shared")
    await consolidate(fleet)
    assert await standing() == (["basher", "sark"], True)
    await forget_memory(fleet, "basher", "shared", "not mine")
    assert await standing() == (["sark"], False)
    await learn(fleet, "basher", "shared")
    await consolidate(fleet)
    assert await standing() == (["basher", "sark"], True)


async def test_a_restored_lesson_meets_the_one_that_agrees_with_it(store_address: str) -> None:
    async with agent(store_address, now="2026-03-07T12:00:00Z", embedder="lexical") as one:
        for program in ("basher", "sark"):
            pattern = {
                "pattern": "Check the status",
                "domain": "claims",
                "confidence": 0.8,
                "evidence": f"{program} saw it happen twice",
                "id": "p",
            }
            await one.call("store_memory", programId=program, pattern=pattern)
        await one.call("forget_memory", programId="basher", patternId="p", reason="no")
        assert (await one.call("pattern_consolidate"))["promoted"] == []
        assert await restore(store_address, "p") == {"restored": True, "patternId": "p"}
        (made,) = (await one.call("pattern_consolidate"))["promoted"]
    assert made["contributors"] == ["basher", "sark"]


async def test_of_ten_restorations_at_once_one_succeeds(store_address: str) -> None:
    async with agent(store_address, now="2026-03-07T12:00:00Z", embedder="lexical") as one:
        await one.call("write_note", programId="basher", text="Only once")
        await one.call("write_note", programId="basher", noteId="n1", remove=True)
        outcomes: list[bool] = []

        async def try_to_restore() -> None:
            try:
                outcomes.append(bool((await restore(store_address, "n1"))["restored"]))
            except InvalidArgumentError:
                outcomes.append(False)  # another was faster: the archive holds it no longer

        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(try_to_restore)
        assert sorted(outcomes) == [False] * 9 + [True]
        assert [
            note["id"]
            for note in (await one.call("get_program_state", programId="basher"))["notes"]
        ] == ["n1"]


async def test_a_forgotten_lesson_leaves_its_program_and_enters_the_archive_in_one_commit(
    open_store: Callable[[], Store],
) -> None:
    fleet, other = fleet_on(open_store()), fleet_on(open_store())
    await learn(fleet, "basher", *map(str, range(20)))

    async def forget(name: str) -> None:
        await forget_memory(fleet if int(name) % 2 else other, "basher", name, "no")

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for name in map(str, range(10)):
                tasks.start_soon(forget, name)
    program = await fleet.programs.read("basher")
    lines = [
        archive_record(document) for document in await fleet.programs.archive.of_program("basher")
    ]
    assert sorted(program.patterns) == sorted(map(str, range(10, 20)))
    assert len(lines) == 10
    assert "3" not in program.patterns
