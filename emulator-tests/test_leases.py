"""One worker at a time, on every engine: the clock schedules, the fence protects."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from fleet_memory.clock import MAX_OFFSET
from fleet_memory.errors import ConflictError, LeaseLostError
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.runs import (
    CLOCK_DIFFERENCE,
    Lease,
    LeaseClaim,
    claimed,
    refreshed,
    release,
    take,
)
from fleet_memory.stores import ABSENT, Ref, Store, Write
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

LEASE, ENTRY = FleetPaths("f1").lease("maintenance"), Ref("fleets/f1/gsp", "entry")
NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)
TTL_S = 300
LATER = NOW + timedelta(seconds=TTL_S)


async def taken(store: Store, owner: str = "first", now: datetime = NOW) -> Lease:
    lease = await take(store, LEASE, owner, now=now, ttl_s=TTL_S)
    assert lease is not None
    return lease


async def test_a_free_lease_is_taken_and_stored_as_documented(store: Store) -> None:
    lease = await taken(store)
    assert lease.claim == LeaseClaim(owner="first", until=LATER, fence=1, beat=0)
    (document,) = await store.get(Ref("fleets/f1/leases", "maintenance"))
    assert document is not None
    assert document.fields == {
        "owner": "first",
        "until": "2026-03-07T12:05:00Z",
        "fence": 1,
        "beat": 0,
    }


async def test_of_thirty_contenders_one_wins(open_store: Callable[[], Store]) -> None:
    stores, winners = [open_store() for _ in range(5)], list[Lease]()

    async def contend(n: int) -> None:
        lease = await take(stores[n % 5], LEASE, f"owner {n}", now=NOW, ttl_s=TTL_S)
        if lease is not None:
            winners.append(lease)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for n in range(30):
                tasks.start_soon(contend, n)
    assert len(winners) == 1
    assert await refreshed(stores[0], winners[0]) == winners[0]


async def test_a_held_lease_is_not_taken_before_it_expires(store: Store) -> None:
    lease = await taken(store)
    assert await take(store, LEASE, "second", now=LATER - timedelta(seconds=1), ttl_s=TTL_S) is None
    assert await refreshed(store, lease) == lease


async def test_a_holder_from_the_future_is_overtaken_at_once_and_applies_nothing(
    store: Store,
) -> None:
    ahead = await taken(store, "killed", now=NOW + timedelta(days=300))
    fast = await taken(store, "second")
    assert fast.claim == LeaseClaim(owner="second", until=LATER, fence=2)
    with pytest.raises(ConflictError):
        await store.commit(ahead.guard(), Write(ENTRY, {"by": "killed"}, ABSENT))
    assert await store.get(ENTRY) == [None]


async def test_two_servers_whose_clocks_differ_as_much_as_they_may_respect_each_other(
    store: Store,
) -> None:
    ahead = await taken(store, now=NOW + 2 * MAX_OFFSET)
    assert await take(store, LEASE, "second", now=NOW, ttl_s=TTL_S) is None
    assert await refreshed(store, ahead) == ahead


async def test_a_guarded_commit_is_applied_as_long_as_the_lease_is_held(store: Store) -> None:
    lease = await taken(store)
    for n in range(1, 4):
        await store.commit(lease.guard(), Write(ENTRY, {"n": n}))
        lease = await refreshed(store, lease)
        assert lease.claim == LeaseClaim(owner="first", until=LATER, fence=1, beat=n)
    (entry,) = await store.get(ENTRY)
    assert entry is not None
    assert entry.fields == {"n": 3}


async def test_a_holder_that_was_overtaken_applies_nothing(store: Store) -> None:
    slow = await taken(store)
    fast = await taken(store, "second", now=LATER)
    with pytest.raises(ConflictError):
        await store.commit(slow.guard(), Write(ENTRY, {"by": "slow"}, ABSENT))
    with pytest.raises(LeaseLostError, match="taken over"):
        await refreshed(store, slow)
    assert await store.get(ENTRY) == [None]
    assert fast.claim.fence == slow.claim.fence + 1
    await store.commit(fast.guard(), Write(ENTRY, {"by": "fast"}, ABSENT))


async def test_a_guard_is_good_for_one_commit(store: Store) -> None:
    lease = await taken(store)
    await store.commit(lease.guard())
    with pytest.raises(ConflictError):
        await store.commit(lease.guard(), Write(ENTRY, {"n": 1}))
    assert await store.get(ENTRY) == [None]


async def test_a_guard_may_extend_the_lease(store: Store) -> None:
    lease = await taken(store)
    await store.commit(lease.guard(until=LATER + timedelta(seconds=TTL_S)))
    assert await take(store, LEASE, "second", now=LATER, ttl_s=TTL_S) is None
    await store.commit((await refreshed(store, lease)).guard())


async def test_a_released_lease_is_free_at_once_and_its_fence_goes_on(store: Store) -> None:
    lease = await taken(store)
    await store.commit(lease.guard())
    await release(store, lease)
    second = await taken(store, "second")
    assert (second.claim.owner, second.claim.fence) == ("second", 2)


async def test_releasing_a_lease_that_another_has_taken_leaves_it_alone(store: Store) -> None:
    slow = await taken(store)
    fast = await taken(store, "second", now=LATER)
    await release(store, slow)
    assert await refreshed(store, fast) == fast


@pytest.mark.parametrize(
    ("held", "fence"),
    [
        (None, 1),
        (LeaseClaim(owner="other", until=NOW, fence=7, beat=3), 8),
        (LeaseClaim(owner="other", until=NOW + timedelta(microseconds=1), fence=7), None),
        (LeaseClaim(owner="first", until=LATER, fence=7, beat=3), None),
        (LeaseClaim(owner="other", until=LATER + CLOCK_DIFFERENCE, fence=7), None),
        (
            LeaseClaim(
                owner="other", until=LATER + CLOCK_DIFFERENCE + timedelta(milliseconds=1), fence=7
            ),
            8,
        ),
    ],
)
def test_a_claim_is_made_on_a_lease_that_is_free_expired_or_from_the_future(
    held: LeaseClaim | None, fence: int | None
) -> None:
    claim = claimed(held, owner="first", now=NOW, ttl_s=TTL_S)
    assert claim == (
        None if fence is None else LeaseClaim(owner="first", until=LATER, fence=fence, beat=0)
    )
