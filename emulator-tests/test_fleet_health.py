"""A fleet's numbers on both engines: counted once, billed for each of a few programs, or alike for
any number.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from billing import Bill, Billed
from fleets import NOW, fleet_on, learn, lesson

from fleet_memory.fleet import no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.schemas.health import FleetRates, KnowledgeCounts, PatternCounts
from fleet_memory.stores import Store
from fleet_memory.tools.commit_session import commit_session
from fleet_memory.tools.fleet_health import MAX_PROGRAMS_LOOKED_AT, fleet_health, health_of_fleet
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.reinforce_memory import reinforce_memory
from fleet_memory.tools.store_memory import store_memory

pytestmark = pytest.mark.anyio

EARLY = NOW - timedelta(days=85)  # lessons of then are prunable at LATER
LATER = NOW + timedelta(days=100)  # lessons of NOW are stale
KEY = "pattern/domain-shared/lesson-shared"
SUMS, SNAPSHOT, POLICY = 1, 1, 1  # documents
LARGE = Bill(reads=SUMS + SNAPSHOT + POLICY, sums=22)


async def test_a_fleet_s_life_in_numbers(store: Store) -> None:
    early, fleet, later = fleet_on(store, EARLY), fleet_on(store), fleet_on(store, LATER)
    await learn(early, "basher", "unused", "used")
    await reinforce_memory(early, "basher", "used")
    await learn(fleet, "basher", "shared")
    await learn(fleet, "sark", "shared")
    await maintain_fleet(fleet, no_progress)
    await maintain_fleet(later, no_progress)  # archives one of use and one that never was
    await gsp_bootstrap(later, "iso")
    await store_memory(later, "iso", lesson("shared"))
    await reinforce_memory(later, "iso", KEY, outcome="contradicted", evidence="It failed")
    await maintain_fleet(later, no_progress)
    await learn(later, "clu", "waits")
    told = await fleet_health(later)
    assert (told.programs, told.verdict) == (4, "forgetting")
    assert told.patterns == PatternCounts(total=4, active=2, stale=2, promoted=2, archived=2)
    assert told.rates == FleetRates(junk=0.1667, echo=1.0, duplicate=0.0, never_reinforced=1.0)
    assert told.knowledge == KnowledgeCounts(
        fresh=0, verify=0, contested=1, retired=0, constitutional=0
    )
    assert told.ledger == {"promoted": 1, "contradicted": 1}
    assert told.verdicts == {"forgetting": 2, "healthy": 2}
    assert [(one.program_id, one.verdict) for one in told.unwell or ()] == [
        ("basher", "forgetting"),
        ("sark", "forgetting"),
    ]
    assert (told.freshness.pending, told.omitted) == (1, None)


async def test_it_reads_each_program_the_snapshot_and_the_policy_once_and_counts_the_rest(
    store: Store,
) -> None:
    billed = Billed(store)
    for size in (3, 30):
        for number in range(size):
            await learn(
                fleet_on(store), f"program-{number}", "shared" if number < 2 else f"own-{number}"
            )
        await maintain_fleet(fleet_on(store), no_progress)
        billed.bill = Bill()
        await fleet_health(fleet_on(billed))
        assert billed.bill == Bill(reads=size + 2, sums=22)


async def test_an_empty_fleet_is_an_answer(store: Store) -> None:
    told = await fleet_health(fleet_on(store))
    assert (told.programs, told.verdict, told.unwell, told.ledger) == (0, "empty", None, None)


async def test_a_fleet_larger_than_the_limit_is_answered_from_the_sums_of_a_run(
    store: Store,
) -> None:
    fleet = fleet_on(store)
    for number in range(6):
        await learn(fleet_on(store, EARLY), f"program-{number}", f"own-{number}")
        await learn(fleet, f"program-{number}", "shared" if number < 2 else f"new-{number}")
        await commit_session(
            fleet, f"program-{number}", missing=("Which port does the proxy use?",)
        )
    uncounted = await health_of_fleet(fleet, 10_000, max_programs=5)
    assert (uncounted.verdict, uncounted.patterns, uncounted.programs) == (None, None, 6)
    assert "run fleet-memory maintain" in uncounted.advice[0]
    await maintain_fleet(fleet, no_progress)
    answer = await health_of_fleet(fleet, 10_000, max_programs=5)
    assert answer == replace(await health_of_fleet(fleet, 10_000, max_programs=6), as_of=NOW)
    soon = fleet_on(store, NOW + timedelta(days=6))
    await maintain_fleet(
        replace(soon, memory=fleet.memory), no_progress
    )  # the early lessons are stale by now
    answer = await health_of_fleet(soon, 10_000, max_programs=5)
    assert answer == replace(await health_of_fleet(soon, 10_000, max_programs=6), as_of=soon.now())
    assert answer.patterns == PatternCounts(total=12, active=6, stale=6, promoted=2, archived=0)
    assert answer.verdict == "forgetting"


async def test_the_health_of_a_large_fleet_is_billed_alike_however_large_it_is(
    store: Store,
) -> None:
    billed = Billed(store)
    for size in (MAX_PROGRAMS_LOOKED_AT + 1, 2 * MAX_PROGRAMS_LOOKED_AT):
        for number in range(size):
            await learn(
                fleet_on(store), f"program-{number}", "shared" if number < 2 else f"own-{number}"
            )
        await maintain_fleet(fleet_on(store), no_progress)
        billed.bill = Bill()
        answer = await fleet_health(fleet_on(billed))
        assert (answer.programs, answer.as_of) == (size, NOW)
        assert billed.bill == LARGE
