"""Checks whether a memory can be used, for `fleet-memory doctor store`."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.errors import ConflictError, DocumentRejectedError, EmbedderError
from fleet_memory.jobs.credentials import stored_credentials
from fleet_memory.repositories.documents import (
    UnreadableDocument,
    decoded,
    document_blocks,
    versioned,
)
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.programs import Programs, versioned_program
from fleet_memory.repositories.records import archive_record, ledger_line, past_summary
from fleet_memory.repositories.snapshots import Snapshots, versioned_entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.tokens import TokenRecord
from fleet_memory.similarity import NO_BUILD, Embedder
from fleet_memory.stores import Document, Query, Store

MAX_NAMED: Final = 25  # unreadable documents that a report names; the rest is counted. Chosen

_CODECS: Final[Mapping[str, Callable[[Document], object]]] = {
    "programs": versioned_program,
    "gsp": versioned_entry,
    "pairs": versioned_pair,
    "ledger": ledger_line,
    "archive": archive_record,
    "history": past_summary,
    "tokens": versioned(TokenRecord),
}


class CheckReport(NamedTuple):
    """Rows to show, and whether everything is as it should be.

    `programs` are those of the fleet that stored something, `documents` those of all fleets in the
    store.
    """

    rows: dict[str, object]
    healthy: bool


async def check_memory(store: Store | None, fleet_id: str, embedder: Embedder) -> CheckReport:
    """Read the whole store, None for one that does not exist yet, and try the embedder. Raises the
    store's errors.

    Every document of the fleet is decoded; those that cannot be are named. Billed 1 read for each
    document.
    """
    with suppress(EmbedderError):  # `degraded` has its words
        await embedder.vectors(["Does it load?"])
    memory = (
        await _memory(store, fleet_id) if store else CheckReport({"exists": False}, healthy=True)
    )
    word = "degraded" if is_wanting(embedder) else "note"
    similarity = {"embedder": embedder.name} | (
        {word: embedder.degraded} if embedder.degraded else {}
    )
    return CheckReport(memory.rows | similarity, memory.healthy and not is_wanting(embedder))


def is_wanting(embedder: Embedder) -> bool:
    """Whether an embedder does worse than it could: not where letters are the default, for want of
    a build.
    """
    return embedder.degraded not in ("", NO_BUILD)


async def _memory(store: Store, fleet_id: str) -> CheckReport:
    health = await store.check()
    rows: dict[str, object] = {
        "intact": health.intact,
        "schemaVersion": health.schema_version,
        "programs": await Programs(store, fleet_id).count(),
        "documents": health.documents,
    }
    if unreadable := await _unreadable(store, FleetPaths(fleet_id)):
        rows["unreadable"] = unreadable[:MAX_NAMED]
        rows["unreadableCount"] = len(unreadable)
    if credentials := await stored_credentials(store, fleet_id):
        rows["credentials"] = credentials[:MAX_NAMED]
        rows["credentialCount"] = len(credentials)
    return CheckReport(rows, health.intact and not unreadable and not credentials)


async def _unreadable(store: Store, paths: FleetPaths) -> list[str]:
    """Return a line for each document of a fleet that cannot be read, by collection and id."""
    unreadable: list[str] = []
    for group, decode in _CODECS.items():
        async for documents in document_blocks(store, Query(paths.collection(group))):
            unreadable += await to_thread.run_sync(_refused, documents, decode)
    (policy,) = await store.get(paths.policy)
    unreadable += _refused([policy], versioned(Policy)) if policy else []
    try:
        await Snapshots(store, paths).read()
    except (ConflictError, DocumentRejectedError) as error:
        unreadable.append(f"the snapshot that boot reads: {error}")
    return unreadable


def _refused(documents: list[Document], decode: Callable[[Document], object]) -> list[str]:
    values = (decoded(document, decode) for document in documents)
    return [str(value) for value in values if isinstance(value, UnreadableDocument)]
