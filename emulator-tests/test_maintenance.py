"""Maintenance on both engines: the sweep archives, protects, is fenced, and costs as much as is
due.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from billing import Bill, Billed
from fleets import NOW, consolidate, fleet_on, learn, lesson

from fleet_memory.errors import ConflictError, LeaseLostError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs import maintenance
from fleet_memory.jobs.fenced_writer import MAINTAINER_LEASE, FencedWriter, leased
from fleet_memory.jobs.maintenance import (
    Maintained,
    Sweep,
    maintain_fleet,
    maintain_if_due,
    rehearse_maintenance,
)
from fleet_memory.repositories.runs import take
from fleet_memory.stores import Query, Ref, Store, Write
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from tests.fleets import Interrupted, at, writing

pytestmark = pytest.mark.anyio

FADED = NOW + timedelta(days=181)  # lessons of NOW are prunable
KEY = "pattern/domain-shared/lesson-shared"


async def maintain(fleet: Fleet) -> Maintained:
    return await maintain_fleet(fleet, no_progress)


async def archive(store: Store) -> list[tuple[str, str, str]]:
    found = await store.find(Query("fleets/default/archive"))
    return sorted(
        (str(d.fields["programId"]), str(d.fields["patternId"]), str(d.fields["reason"]))
        for d in found
    )


async def names(fleet: Fleet, program: str) -> list[str]:
    return sorted((await fleet.programs.read(program)).patterns)


async def test_a_faded_lesson_is_archived_though_it_became_knowledge(store: Store) -> None:
    fleet = fleet_on(store)
    await learn(fleet, "basher", "shared", "own")
    await learn(fleet, "sark", "shared")
    await consolidate(fleet)
    later = fleet_on(store, FADED)
    await store_memory(later, "basher", lesson("young"))
    await reinforce_memory(later, "sark", "shared")
    done = await maintain(later)
    assert [(one.program_id, one.pattern_id) for one in done.archived] == [
        ("basher", "own"),
        ("basher", "shared"),
    ]
    assert await archive(store) == [("basher", "own", "decay"), ("basher", "shared", "decay")]
    assert (await names(later, "basher"), await names(later, "sark")) == (["young"], ["shared"])
    assert (await later.knowledge.found(KEY)).value.contributors == (
        "basher",
        "sark",
    )  # both stay in the entry
    assert (await maintain(later)).archived == ()


async def test_a_run_consolidates_and_publishes_waiting_changes(store: Store) -> None:
    fleet = fleet_on(store)
    await learn(fleet, "basher", "shared")
    await learn(fleet, "sark", "shared")
    assert (await maintain(fleet)).promoted == (KEY,)
    assert [entry.key for entry in (await gsp_bootstrap(fleet, "iso")).knowledge] == [KEY]


async def test_a_dry_run_returns_the_same_answer_and_writes_nothing(store: Store) -> None:
    await learn(fleet_on(store), "basher", "old")
    later = fleet_on(store, FADED)
    await learn(later, "sark", "shared")
    await learn(later, "iso", "shared")
    before = [
        await store.find(Query(f"fleets/default/{group}"))
        for group in ("programs", "gsp", "archive", "leases")
    ]
    rehearsal = await rehearse_maintenance(later, no_progress)
    after = [
        await store.find(Query(f"fleets/default/{group}"))
        for group in ("programs", "gsp", "archive", "leases")
    ]
    assert before == after
    assert rehearsal.dry_run
    assert replace(rehearsal, dry_run=False) == await maintain(later)
    assert len(await archive(store)) == 1


async def test_only_one_run_at_a_time(store: Store) -> None:
    fleet = fleet_on(store)
    assert await take(
        store, fleet.knowledge.paths.lease(MAINTAINER_LEASE), "another", now=NOW, ttl_s=60
    )
    with pytest.raises(ConflictError, match="Another maintenance"):
        await maintain(fleet)


async def test_a_program_that_is_written_at_that_moment_is_swept_next_time(store: Store) -> None:
    later = fleet_on(store, FADED)
    for program in ("basher", "sark"):
        await learn(fleet_on(store), program, "old")

    async def agent_writes() -> None:
        await store_memory(later, "basher", lesson("new"))

    done = await maintain(fleet_on(Interrupted(store, writing("archive"), agent_writes), FADED))
    assert [one.program_id for one in done.archived] == ["sark"]
    assert await names(later, "basher") == ["new", "old"]
    assert [one.program_id for one in (await maintain(later)).archived] == ["basher"]
    assert await names(later, "basher") == ["new"]


async def test_a_run_that_was_overtaken_archives_nothing(store: Store) -> None:
    await learn(fleet_on(store), "basher", "old")
    fleet = fleet_on(store, FADED)

    async def overtaken() -> None:
        later = FADED + timedelta(hours=1)
        assert await take(
            store, fleet.knowledge.paths.lease(MAINTAINER_LEASE), "another", now=later, ttl_s=60
        )

    with pytest.raises(LeaseLostError, match="taken over"):
        await maintain(fleet_on(Interrupted(store, writing("archive"), overtaken), FADED))
    assert (await archive(store), await names(fleet, "basher")) == ([], ["old"])


async def swept_for(billed: Billed, fleet: Fleet) -> Bill:
    billed.bill = Bill()
    async with leased(fleet) as writer:
        assert writer is not None
        await Sweep(fleet, writer).run(fleet.now())
    return billed.bill


async def test_a_sweep_is_billed_for_due_lessons_however_many_programs_there_are(
    store: Store,
) -> None:
    billed = Billed(store)
    bills = []
    for size in (3, 30):
        later = fleet_on(billed, FADED + timedelta(days=size))
        for program in range(size):
            await learn(later, f"young-{size}-{program}", "young")
        bills.append(await swept_for(billed, later))
        await learn(fleet_on(billed), f"old-{size}", "old")
        bills.append(await swept_for(billed, later))
    idle, due = Bill(reads=4, writes=2), Bill(reads=7, writes=5)
    assert bills == [idle, due, idle, due]


async def test_a_sweep_of_many_reads_each_once_and_little_more(store: Store) -> None:
    billed = Billed(store)
    for program in range(40):
        await learn(fleet_on(store), f"old-{program}", "old")
    bill = await swept_for(billed, fleet_on(billed, FADED))
    assert bill.writes == 2 + 40 * 3  # the program, the archive, the fence
    assert bill.reads <= 6 + 40 * 2 + 1  # the program, and the fence again


async def test_a_dry_run_reads_no_more_than_four_times_the_due_lessons(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "PROGRAMS_PER_BLOCK", 5)  # far fewer than are due
    billed = Billed(store)
    for program in range(100):
        await learn(fleet_on(store), f"old-{program}", "old")
    fleet = fleet_on(billed, FADED)
    billed.bill = Bill()
    faded = await Sweep(fleet, FencedWriter(fleet)).run(FADED)
    assert len(faded) == 100
    assert billed.bill.reads <= 4 * 100
    assert billed.bill.writes == 0


async def test_the_stored_sweep_time_follows_the_rule(store: Store) -> None:
    fleet = fleet_on(store)
    await learn(fleet, "basher", "a")
    (document,) = await store.get(Ref("fleets/default/programs", "basher"))
    assert document is not None
    assert document.fields["sweepAfter"] == (NOW + timedelta(days=180)).timestamp()


async def test_a_quiet_run_with_nothing_to_do_is_billed_alike_in_any_fleet(store: Store) -> None:
    billed = Billed(store)
    bills = []
    for size in (3, 30):
        fleet = fleet_on(billed, fleet_id=f"of-{size}")
        for program in range(size):
            await learn(fleet, f"program-{program}", f"own-{program}")
        await maintain(fleet)
        for minutes in (20, 25):
            billed.bill = Bill()
            await maintain_if_due(at(fleet, NOW + timedelta(minutes=minutes)), 900)
            bills.append(billed.bill)
    assert bills == [Bill(reads=20, writes=6), Bill(reads=1)] * 2


async def booted(store: Store, program: str) -> tuple[int, list[str]]:
    told = await gsp_bootstrap(fleet_on(store), program)
    return told.knowledge_version, [entry.key for entry in told.knowledge]


async def known(store: Store, *names: str) -> None:
    for program in ("basher", "sark"):
        await learn(fleet_on(store), program, *names)
    await maintain(fleet_on(store))


@pytest.mark.parametrize("damage", ["lost", "older"])
async def test_a_rebuild_shows_every_entry_to_boot_again(store: Store, damage: str) -> None:
    head = Ref("fleets/default/snapshots", "s0")
    await known(store, "one")
    (older,) = await store.get(head)
    await known(store, "two")
    version, whole = await booted(store, "iso")
    assert older is not None
    await store.commit(Write(head, older.fields if damage == "older" else None))
    assert (await booted(store, "clu"))[1] == whole[:1] * (damage == "older")
    renewed = 1 if damage == "older" else 2
    assert (
        await rehearse_maintenance(fleet_on(store), no_progress, rebuild=True)
    ).renewed == renewed
    assert (await maintain_fleet(fleet_on(store), no_progress, rebuild=True)).renewed == renewed
    again, keys = await booted(store, "iso")
    assert keys == whole
    assert again >= version  # no reader has seen a later version than the newest
    assert (await maintain_fleet(fleet_on(store), no_progress, rebuild=True)).renewed == 0
    assert (await booted(store, "iso"))[0] == again


async def test_without_a_rebuild_no_entry_is_read(store: Store) -> None:
    assert (await maintain(fleet_on(store))).renewed is None
