"""The writes of a job: guarded by the lease's fencing token, or none at all in a dry run."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.errors import ConflictError, LeaseLostError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import LEASE_S, MAINTAINER_LEASE, FencedWriter, leased
from fleet_memory.repositories.runs import take
from fleet_memory.repositories.snapshots import ABSENT_ENTRY
from fleet_memory.stores import ABSENT, Document, Json, Ref, Write
from tests.entries import KEY, entry
from tests.lessons import START

pytestmark = pytest.mark.anyio

DOCUMENT = Ref("fleets/default/gsp", "document")


@pytest.fixture
def still(fleet: Fleet) -> Fleet:
    """The fleet with a clock that stands still."""
    return replace(fleet, now=lambda: START)


async def stored(fleet: Fleet, ref: Ref = DOCUMENT) -> dict[str, Json] | None:
    (document,) = await fleet.knowledge.store.get(ref)
    return document.fields if document else None


async def lease_document(fleet: Fleet) -> Document:
    (document,) = await fleet.knowledge.store.get(fleet.knowledge.paths.lease(MAINTAINER_LEASE))
    assert document is not None
    return document


async def take_over(fleet: Fleet) -> None:
    """Take the lease as another worker, after it has expired."""
    later = fleet.now() + timedelta(seconds=LEASE_S)
    ref = fleet.knowledge.paths.lease(MAINTAINER_LEASE)
    assert await take(fleet.knowledge.store, ref, "another", now=later, ttl_s=LEASE_S)


async def put_unpublished_entry(fleet: Fleet) -> None:
    known = entry("iso", "sark", key=KEY)
    writes = fleet.knowledge.writes(ABSENT_ENTRY, known, by="test", why="", now=START)
    await fleet.knowledge.store.commit(*writes)


async def test_a_run_that_was_killed_under_a_clock_ahead_does_not_block_the_next(
    still: Fleet,
) -> None:
    ref = still.knowledge.paths.lease(MAINTAINER_LEASE)
    assert await take(
        still.knowledge.store, ref, "killed", now=START + timedelta(days=300), ttl_s=LEASE_S
    )
    async with leased(still) as writer:
        assert writer is not None
        await writer.commit(Write(DOCUMENT, {"n": 1}, ABSENT))
    assert await stored(still) == {"n": 1}


async def test_a_dry_run_needs_no_lease_and_writes_nothing(still: Fleet) -> None:
    await put_unpublished_entry(still)
    async with leased(still):
        writer = FencedWriter(still)
        assert writer.is_dry_run
        await writer.commit(Write(DOCUMENT, {"n": 1}))
        assert await writer.try_commit(Write(DOCUMENT, {"n": 1}))
        await writer.publish()
    assert await stored(still) is None
    assert (await still.knowledge.snapshots.read()).rows == ()


async def test_one_run_at_a_time_gets_a_writer_and_the_next_one_when_it_ends(still: Fleet) -> None:
    async with leased(still) as first:
        assert first is not None
        async with leased(still) as second:
            assert second is None
    async with leased(still) as third:
        assert third is not None


async def test_who_loses_a_race_writes_nothing_and_may_go_on(still: Fleet) -> None:
    await still.knowledge.store.commit(Write(DOCUMENT, {"by": "another"}, ABSENT))
    async with leased(still) as writer:
        assert writer is not None
        with pytest.raises(ConflictError):
            await writer.commit(Write(DOCUMENT, {"by": "me"}, ABSENT))
        assert not await writer.try_commit(Write(DOCUMENT, {"by": "me"}, ABSENT))
        assert await stored(still) == {"by": "another"}
        assert await writer.try_commit(Write(DOCUMENT, {"by": "me"}))
    assert await stored(still) == {"by": "me"}


async def test_a_worker_that_was_overtaken_writes_nothing_and_learns_it_at_once(
    still: Fleet,
) -> None:
    await put_unpublished_entry(still)
    async with leased(still) as writer:
        assert writer is not None
        await take_over(still)
        taken = await lease_document(still)
        with pytest.raises(LeaseLostError, match="taken over"):
            await writer.commit(Write(DOCUMENT, {"n": 1}))
        with pytest.raises(LeaseLostError):
            await writer.try_commit(Write(DOCUMENT, {"n": 1}))
        with pytest.raises(LeaseLostError):
            await writer.publish()
    assert await stored(still) is None
    assert (await still.knowledge.snapshots.read()).rows == ()
    assert await lease_document(still) == taken  # releasing leaves the other's lease alone


async def test_publishing_shows_every_entry_and_the_time_of_the_consolidation(still: Fleet) -> None:
    await put_unpublished_entry(still)
    async with leased(still) as writer:
        assert writer is not None
        await writer.publish(consolidated_at=START)
    snapshot = await still.knowledge.snapshots.read()
    assert ([row.key for row in snapshot.rows], snapshot.consolidated_at) == ([KEY], START)
