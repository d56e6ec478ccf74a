"""A fleet's numbers on both engines: counted once, billed for each of at most 64 programs."""

from datetime import timedelta

import pytest
from billing import Bill, Billed
from fleets import NOW, fleet_on, learn, lesson

from fleet_memory.fleet import no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.stores import Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.health import MAX_PROGRAMS_LOOKED_AT, fleet_health
from fleet_memory.tools.session import commit_session

pytestmark = pytest.mark.anyio

EARLY = NOW - timedelta(days=85)
LATER = NOW + timedelta(days=100)  # lessons of NOW are stale
KEY = "pattern/domain-shared/lesson-shared"
SNAPSHOT, POLICY, SUMS = 1, 1, 6


async def test_a_fleet_s_life_in_numbers(store: Store) -> None:
    early, fleet, later = fleet_on(store, EARLY), fleet_on(store), fleet_on(store, LATER)
    await learn(early, "basher", "unused", "used")
    await reinforce_memory(early, "basher", "used")
    await learn(fleet, "basher", "shared")
    await learn(fleet, "sark", "shared")
    await maintain_fleet(fleet, no_progress)
    await maintain_fleet(later, no_progress)
    await gsp_bootstrap(later, "iso")
    own = lesson("shared").model_copy(update={"evidence": "iso saw it fail twice"})
    await store_memory(later, "iso", own)
    await reinforce_memory(later, "iso", KEY, outcome="contradicted", evidence="It failed")
    await maintain_fleet(later, no_progress)
    await learn(later, "clu", "waits")
    told = await fleet_health(later)
    assert (told.programs, told.verdict) == (4, "forgetting")
    assert told.patterns == {"total": 6, "stale": 4, "promoted": 3}
    assert told.knowledge == {"contested": 1}
    assert [(one.program_id, one.verdict) for one in told.unwell] == [
        ("basher", "forgetting"),
        ("sark", "forgetting"),
    ]
    assert (told.freshness.pending, told.omitted) == (1, {})


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
        assert billed.bill == Bill(reads=size + 2, sums=SUMS)


async def test_an_empty_fleet_is_an_answer(store: Store) -> None:
    told = await fleet_health(fleet_on(store))
    assert (told.programs, told.verdict, told.unwell) == (0, "empty", ())


async def test_of_a_larger_fleet_the_64_programs_that_changed_last_are_read(store: Store) -> None:
    billed = Billed(store)
    for number in range(MAX_PROGRAMS_LOOKED_AT + 2):
        await learn(fleet_on(store), f"program-{number:02}", f"own-{number}")
    later = fleet_on(store, NOW + timedelta(hours=1))
    await commit_session(later, "program-05", missing=("Which port does the proxy use?",))
    billed.bill = Bill()
    answer = await fleet_health(fleet_on(billed, later.now()))
    assert billed.bill == Bill(reads=MAX_PROGRAMS_LOOKED_AT + SNAPSHOT + POLICY, sums=SUMS)
    assert (answer.programs, answer.omitted) == (66, {"programs": 2})
    assert [one.text for one in answer.missing or ()] == ["Which port does the proxy use?"]
