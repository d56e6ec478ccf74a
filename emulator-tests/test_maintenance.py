"""Maintenance on both engines: one run at a time, rehearsed without a write, billed alike in any
fleet.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from billing import Bill, Billed
from fleets import NOW, fleet_on, learn

from fleet_memory.errors import ConflictError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import (
    Maintained,
    maintain_fleet,
    maintain_if_due,
)
from fleet_memory.jobs.publishing import MAINTAINER_LEASE
from fleet_memory.repositories.runs import take
from fleet_memory.stores import Query, Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from tests.fleets import at

pytestmark = pytest.mark.anyio

KEY = "pattern/domain-shared/lesson-shared"


async def maintain(fleet: Fleet) -> Maintained:
    return await maintain_fleet(fleet, no_progress)


async def test_a_run_consolidates_and_publishes_waiting_changes(store: Store) -> None:
    fleet = fleet_on(store)
    await learn(fleet, "basher", "shared")
    await learn(fleet, "sark", "shared")
    assert (await maintain(fleet)).promoted == (KEY,)
    assert [entry.key for entry in (await gsp_bootstrap(fleet, "iso")).knowledge] == [KEY]


async def test_a_dry_run_returns_the_same_answer_and_writes_nothing(store: Store) -> None:
    later = fleet_on(store)
    await learn(later, "sark", "shared")
    await learn(later, "iso", "shared")
    before = [
        await store.find(Query(f"fleets/default/{group}"))
        for group in ("programs", "gsp", "archive", "leases")
    ]
    rehearsal = await maintain_fleet(later, no_progress, dry_run=True)
    after = [
        await store.find(Query(f"fleets/default/{group}"))
        for group in ("programs", "gsp", "archive", "leases")
    ]
    assert before == after
    assert rehearsal.dry_run
    assert replace(rehearsal, dry_run=False) == await maintain(later)


async def test_only_one_run_at_a_time(store: Store) -> None:
    fleet = fleet_on(store)
    assert await take(
        store, fleet.knowledge.paths.lease(MAINTAINER_LEASE), "another", now=NOW, ttl_s=60
    )
    with pytest.raises(ConflictError, match="Another maintenance"):
        await maintain(fleet)


async def test_a_quiet_run_with_nothing_to_do_reads_the_pairs_that_wait_and_no_program(
    store: Store,
) -> None:
    billed = Billed(store)
    for size in (3, 30):
        fleet = fleet_on(billed, fleet_id=f"of-{size}")
        for program in range(size):
            await learn(fleet, f"program-{program}", f"own-{program}")
        await maintain(fleet)
        waiting = max(1, len(await fleet.pairs.waiting()))
        bills = []
        for minutes in (20, 25):
            billed.bill = Bill()
            await maintain_if_due(at(fleet, NOW + timedelta(minutes=minutes)), 900)
            bills.append(billed.bill)
        assert bills == [Bill(reads=17 + waiting, writes=6), Bill(reads=1)]


async def booted(store: Store, program: str) -> tuple[int, list[str]]:
    told = await gsp_bootstrap(fleet_on(store), program)
    return told.knowledge_version, [entry.key for entry in told.knowledge]


async def known(store: Store, *names: str) -> None:
    for program in ("basher", "sark"):
        await learn(fleet_on(store), program, *names)
    await maintain(fleet_on(store))
