"""Publishing: the snapshot that boot reads is brought up to date, under the maintainer's lease, at
most every 5 s.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from fleet_memory.errors import ConflictError, LeaseLostError, StoreError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import log_change
from fleet_memory.jobs.fenced_writer import leased
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.entries import EntryChange

PUBLISH_EVERY_S: Final = (
    5.0  # seconds; Source: docs/consolidation.md, chosen: a snapshot may be a megabyte
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
