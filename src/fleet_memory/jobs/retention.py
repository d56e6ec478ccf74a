"""Deletes documents that are old enough: tokens that ended, and lines of the archive as the fleet's
policy says.
"""

from datetime import datetime, timedelta
from typing import Final

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.unreadable import iter_readable
from fleet_memory.schemas.policy import Policy
from fleet_memory.stores import Document, Query, Ref, Write

DELETED_AT_ONCE: Final = 100  # documents in a commit; chosen
TOKENS_KEPT: Final = timedelta(
    days=90
)  # after a token ended; chosen: as long as a stale lesson. docs/tokens.md


async def delete_expired(
    fleet: Fleet, writer: FencedWriter, policy: Policy, now: datetime
) -> int | None:
    """Delete the archive's lines of more than `retentionDays` ago and return how many; None where
    it is kept for ever.

    Lessons have no retention: they fade into the archive first. A dry run counts at most the first
    100. Billed 1 read and 1 write a line, and 1 read. Raises LeaseLostError.
    """
    if policy.retention_days is None:
        return None
    before = now - timedelta(days=policy.retention_days)
    return len(await _deleted(fleet, writer, fleet.programs.paths.archive, "at", before))


async def delete_ended_tokens(fleet: Fleet, writer: FencedWriter, now: datetime) -> int:
    """Delete the tokens that were revoked, or expired, `TOKENS_KEPT` ago, and return how many.

    The ledger keeps that they were, and the key of the fleet's ids stays: it still asks for a
    token. Bounded and billed as `delete_expired`, with 2 reads. Raises LeaseLostError.
    """
    before, tokens = now - TOKENS_KEPT, fleet.tokens.paths.tokens
    revoked = await _deleted(fleet, writer, tokens, "revokedAt", before)
    return len({*revoked, *await _deleted(fleet, writer, tokens, "expiresAt", before)})


async def _deleted(
    fleet: Fleet, writer: FencedWriter, collection: str, field: str, before: datetime
) -> list[Ref]:
    """Delete the documents of a collection whose field has an earlier time, the earliest first, and
    return them.
    """

    def aged(document: Document) -> tuple[Document, bool]:
        return document, datetime.fromisoformat(str(document.fields[field])) < before

    earliest = Query(collection, order=field, limit=DELETED_AT_ONCE)
    deleted = list[Ref]()
    while True:
        documents = iter_readable(await fleet.programs.store.find(earliest), aged)
        old = [document for document, is_old in documents if is_old]
        if old and not await writer.try_commit(
            *(Write(document.ref, None, document.revision) for document in old)
        ):
            return deleted  # somebody wrote one of them at that moment; the next run does the rest
        deleted += [document.ref for document in old]
        if len(old) < DELETED_AT_ONCE or writer.is_dry_run:
            return deleted
