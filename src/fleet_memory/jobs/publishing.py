"""Publishing, and the writes of a job that changes a whole fleet: under a lease, or as a dry run
that writes nothing.

async with leased(fleet) as writer:
    if writer is None:
        raise ConflictError("Another run is under way; leave it to that one.")
    await writer.commit(*writes)
    await writer.publish()

Publishing brings the snapshot that boot reads up to date, at most every 5 s.
"""

import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from anyio import move_on_after

from fleet_memory.errors import ConflictError, LeaseLostError, StoreError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import log_change
from fleet_memory.jobs.others import shelving
from fleet_memory.repositories.documents import batches
from fleet_memory.repositories.retrying import commit_settled, retry_conflicts
from fleet_memory.repositories.runs import Lease, refreshed, release, take
from fleet_memory.rules.entries import EntryChange
from fleet_memory.stores import Write

MAINTAINER_LEASE: Final = "maintainer"  # of the one server that proposes and publishes
LEASE_S: Final = (
    120.0  # seconds; every commit of a run renews it. Chosen; docs/architecture.md, "Concurrency"
)
RELEASE_WITHIN_S: Final = (
    1.0  # seconds; chosen: a server that is asked to stop waits no longer, the lease expires anyway
)


class FencedWriter:
    """Writes for one run, each commit guarded by the lease's fencing token. Without a lease: dry
    run.
    """

    def __init__(self, fleet: Fleet, lease: Lease | None = None) -> None:
        self._fleet = fleet
        self._lease = lease

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is written."""
        return self._lease is None

    async def commit(self, *writes: Write) -> None:
        """Apply all writes or none, and renew the lease. Billed 1R 1W above the writes.

        Raises ConflictError when somebody else wrote one of the documents first, then nothing was
        applied. Raises LeaseLostError when another run has taken the lease: before this commit, so
        that nothing was applied, or right after it, so that all of it was. A lost answer is settled
        by the lease.
        """
        if self._lease is None:
            return
        store, guard = (
            self._fleet.knowledge.store,
            self._lease.guard(self._fleet.now() + timedelta(seconds=LEASE_S)),
        )
        try:
            await commit_settled(store, guard, *writes)
        except ConflictError:
            self._lease = await refreshed(store, self._lease)
            raise
        self._lease = await refreshed(store, self._lease)

    async def try_commit(self, *writes: Write) -> bool:
        """Commit as `commit` does, but return False when another wrote first. Raises
        LeaseLostError.
        """
        try:
            await self.commit(*writes)
        except ConflictError:
            return False
        return True

    async def publish(
        self, *, consolidated_at: datetime | None = None, without: Collection[str] = ()
    ) -> None:
        """Bring the snapshot that boot reads up to date; an entry that somebody changes at that
        moment starts it over.

        `consolidated_at` is when a consolidation ended, None when none did; `without` are keys that
        it must not have, unless an entry of that key is waiting. Raises ConflictError when every
        race was lost, LeaseLostError when another run has taken the lease.
        """
        if self.is_dry_run:
            return
        complete = False
        while not complete:
            once = partial(self._publish_once, consolidated_at, without)
            complete = await retry_conflicts(once, "the knowledge snapshot")
            without = ()  # an entry of the first part may have brought such a key back

    async def release(self) -> None:
        """Let others take the lease at once."""
        if self._lease is not None:
            await release(self._fleet.knowledge.store, self._lease)

    async def _publish_once(
        self, consolidated_at: datetime | None, without: Collection[str]
    ) -> bool:
        """Publish as many entries as one commit takes; return whether these were all."""
        snapshots = self._fleet.knowledge.snapshots
        behind = await snapshots.behind()
        shelf = await shelving(self._fleet, behind)
        publication = await snapshots.publication(
            now=self._fleet.now(),
            behind=behind,
            consolidated_at=consolidated_at,
            without=without,
            shelf=shelf.fields,
        )
        # A draft may not be missing, and an overtaken worker may not write one over its
        # successor's.
        for drafts in batches([*shelf.drafts, *publication.drafts]):
            await self.commit(*drafts)
        await self.commit(*publication.switch)
        for outdated in batches([*shelf.outdated, *publication.outdated]):
            await self.commit(*outdated)
        return publication.complete


@asynccontextmanager
async def leased(fleet: Fleet) -> AsyncIterator[FencedWriter | None]:
    """Yield a writer under the fleet's lease, which ends with the block; None while another run has
    it.
    """
    store = fleet.knowledge.store
    lease = await take(
        store,
        fleet.knowledge.paths.lease(MAINTAINER_LEASE),
        uuid.uuid4().hex,
        now=fleet.now(),
        ttl_s=LEASE_S,
    )
    if lease is None:
        yield None
        return
    writer = FencedWriter(fleet, lease)
    try:
        yield writer
    finally:
        with move_on_after(RELEASE_WITHIN_S, shield=True):
            await writer.release()


# When it is published

PUBLISH_EVERY_S: Final = (
    5.0  # seconds; Source: docs/maintenance.md, chosen: a snapshot may be a megabyte
)
WAIT_FOR_LEASE_S: Final = 10.0  # seconds that a person's command waits for a run to end; chosen


async def publish_if_due(fleet: Fleet) -> None:
    """Publish the entries that changed, unless a snapshot was written within 5 s or a run is under
    way.

    Then the change stays marked: this server publishes soon, and so does the next owner of the
    lease. The outcome is stored already, so nothing that goes wrong here reaches the caller.
    """
    with suppress(ConflictError, LeaseLostError, StoreError):
        if await fleet.knowledge.snapshots.published_lately(
            fleet.now(), PUBLISH_EVERY_S
        ) or not await _publish(fleet):
            fleet.publish_later()


async def publish_changes(fleet: Fleet, by: str, changes: Sequence[EntryChange]) -> None:
    """Log the entries that a program gave another state, and publish them, as `publish_if_due`
    does.
    """
    for change in changes:
        log_change(by, change)
    if changes:
        await publish_if_due(fleet)


async def publish_last(fleet: Fleet) -> None:
    """Publish the waiting changes before a server ends; a run that is under way publishes them
    itself.
    """
    with suppress(ConflictError, LeaseLostError, StoreError):
        await _publish(fleet)


async def publish_now(fleet: Fleet) -> None:
    """Publish at once, for a person who waits; a run that has the lease longer publishes the change
    when it ends.
    """

    async def attempt() -> None:
        if not await _publish(fleet):
            raise ConflictError(
                "A maintenance run is under way; it publishes this change when it ends."
            )

    with suppress(ConflictError, LeaseLostError):
        await retry_conflicts(attempt, None, WAIT_FOR_LEASE_S)


async def _publish(fleet: Fleet) -> bool:
    """Publish; False while a run has the lease."""
    async with leased(fleet) as writer:
        if writer is None:
            return False
        if await fleet.knowledge.snapshots.behind():
            await writer.publish()
        return True
