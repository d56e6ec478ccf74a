"""The snapshot that boot reads: published whole at any size, and read whole while it is
published.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest
from billing import Bill, Billed
from fleets import NOW, entry_writes, fleet_on, published_entry

from fleet_memory.errors import LeaseLostError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import LEASE_S, FencedWriter, leased
from fleet_memory.repositories import snapshots
from fleet_memory.repositories.documents import batches
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.stores import Document, Query, Ref, Store

pytestmark = pytest.mark.anyio


def entry(number: int, size: int) -> Entry:
    """Return an entry that takes `size` bytes of the snapshot, by far the most of them for its
    vector.
    """
    return published_entry(
        f"pattern/care/{number:05}", f"Lesson {number}", "care", vector="A" * size, embedder="x"
    )


async def put(fleet: Fleet, *numbers: int, size: int = 100) -> None:
    writes = []
    for one in (entry(number, size) for number in numbers):
        writes += entry_writes(fleet, one)
    for together in batches(writes):
        await fleet.knowledge.store.commit(*together)


@asynccontextmanager
async def publishing(fleet: Fleet) -> AsyncIterator[FencedWriter]:
    async with leased(fleet) as writer:
        assert writer is not None
        yield writer


async def publish(store: Store, *numbers: int, now: datetime = NOW) -> None:
    """Make entries of these numbers, and publish them."""
    await put(fleet_on(store), *numbers)
    async with publishing(fleet_on(store, now)) as writer:
        await writer.publish(consolidated_at=NOW)


async def shown(store: Store) -> tuple[int, list[int]]:
    """Return the version that a server which has read nothing yet reads, and its entries."""
    snapshot = await fleet_on(store).knowledge.snapshots.read()
    return snapshot.version, [int(row.key[-5:]) for row in snapshot.rows]


@pytest.fixture
def one_entry_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOT_SHARD_BYTES", 1)


async def test_knowledge_larger_than_a_commit_may_be_is_published_whole(store: Store) -> None:
    await put(fleet_on(store), *range(300), size=40_000)  # 12 MB; Firestore commits 10 MiB at most
    await publish(store)
    assert await shown(store) == (1, list(range(300)))


async def test_more_entries_than_a_commit_takes_are_published_in_turns(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_ENTRIES_PER_PUBLICATION", 2)
    await publish(store, *range(5))
    assert await shown(store) == (3, list(range(5)))
    held = await fleet_on(store).knowledge.read_versioned(
        "pattern/care/00000", "pattern/care/00004"
    )
    assert [one.entry.unpublished for one in held if one.entry] == [False, False]


@pytest.mark.usefixtures("one_entry_a_shard")
async def test_a_publication_that_was_killed_before_its_switch_is_not_visible(store: Store) -> None:
    await publish(store, 1, 2, 3)
    await put(fleet_on(store), 0, 4)
    async with publishing(fleet_on(store)) as writer:
        snapshots = fleet_on(store).knowledge.snapshots
        made = await snapshots.publication(now=NOW, behind=await snapshots.behind())
        await writer.commit(*made.drafts)
    assert await shown(store) == (1, [1, 2, 3])
    await publish(store, 5)
    assert await shown(store) == (2, [0, 1, 2, 3, 4, 5])


class Interrupted(Billed):
    """A store in which others publish each time somebody read the head of the snapshot and not yet
    its shards.
    """

    def __init__(self, store: Store, publications: list[list[int]]) -> None:
        super().__init__(store)
        self._others = store
        self._publications = publications

    async def get(self, *refs: Ref) -> list[Document | None]:
        found = await super().get(*refs)
        if refs[0].collection.endswith("/snapshots") and refs[0].id == "head":
            while self._publications:
                await publish(self._others, *self._publications.pop(0))
        return found


@pytest.mark.usefixtures("one_entry_a_shard")
async def test_who_reads_while_another_publishes_reads_the_new_one_whole(store: Store) -> None:
    await publish(store, 1, 2, 3)
    reader = Interrupted(store, [[0, 4]])
    assert await shown(reader) == (2, [0, 1, 2, 3, 4])


@pytest.mark.usefixtures("one_entry_a_shard")
async def test_who_is_overtaken_twice_while_reading_reads_again(store: Store) -> None:
    await publish(store, 1, 2, 3)
    reader = Interrupted(store, [[0], [4]])
    assert await shown(reader) == (3, [0, 1, 2, 3, 4])
    assert reader.bill == Bill(3 + 5)


class Overtaken(Billed):
    """A store in which another takes over and publishes once somebody read which entries are to be
    published.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._others = store
        self._waiting = True

    async def find(self, query: Query) -> list[Document]:
        found = await super().find(query)
        if "unpublished" in query.where and self._waiting:
            self._waiting = False
            await publish(self._others, 0, now=NOW + timedelta(seconds=LEASE_S + 1))
        return found


@pytest.mark.usefixtures("one_entry_a_shard")
async def test_a_publisher_that_was_overtaken_writes_nothing_over_its_successors_shards(
    store: Store,
) -> None:
    await publish(store, 1, 2)
    await put(fleet_on(store), 3)
    with pytest.raises(LeaseLostError):
        async with publishing(fleet_on(Overtaken(store))) as slow:
            await slow.publish()
    assert await shown(store) == (2, [0, 1, 2, 3])


@pytest.mark.usefixtures("one_entry_a_shard")
async def test_with_nothing_new_only_the_date_is_written(store: Store) -> None:
    await publish(store, 1, 2, 3)
    billed, later = Billed(store), NOW + timedelta(hours=1)
    async with publishing(fleet_on(billed)) as writer:
        billed.bill = Bill()
        await writer.publish(consolidated_at=later)
        assert billed.bill.writes == 2  # the lease and the head
    snapshot = await fleet_on(store).knowledge.snapshots.read()
    assert (snapshot.version, len(snapshot.rows), snapshot.consolidated_at) == (1, 3, later)
