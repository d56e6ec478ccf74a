"""Deletes lines of the archive that are older than the fleet's policy keeps them."""

from datetime import datetime, timedelta
from typing import Final

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.schemas.policy import Policy
from fleet_memory.stores import Query, Write

DELETED_AT_ONCE: Final = 100  # lines of the archive in a commit; chosen


async def delete_expired(fleet: Fleet, writer: FencedWriter, policy: Policy, now: datetime) -> int | None:
    """Delete the archive's lines of more than `retentionDays` ago and return how many; None where it is kept for ever.

    Nothing else has a retention: lessons fade into the archive first. A dry run counts at most the first 100. Billed 1
    read and 1 write a line, and 1 read. Raises LeaseLostError.
    """
    if policy.retention_days is None:
        return None
    archive = fleet.programs.archive
    oldest = Query(archive.paths.archive, order="at", limit=DELETED_AT_ONCE)
    before, deleted = now - timedelta(days=policy.retention_days), 0
    while True:
        lines = await archive.store.find(oldest)
        expired = [line for line in lines if datetime.fromisoformat(str(line.fields["at"])) < before]
        if expired and not await writer.try_commit(*(Write(line.ref, None, line.revision) for line in expired)):
            return deleted  # somebody brought one back at that moment; the next run does the rest
        deleted += len(expired)
        if len(expired) < DELETED_AT_ONCE or writer.is_dry_run:
            return deleted
