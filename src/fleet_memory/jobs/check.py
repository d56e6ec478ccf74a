"""Checks whether a memory can be used, for `fleet-memory doctor store`."""

from contextlib import suppress
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.errors import ConflictError, DocumentRejectedError, EmbedderError
from fleet_memory.jobs.credentials import credential_place
from fleet_memory.jobs.transfer.files import COLLECTIONS
from fleet_memory.repositories.documents import (
    UnreadableDocument,
    decoded,
    document_blocks,
    texts_of,
    versioned,
)
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.snapshots import Snapshots
from fleet_memory.rules.text.credentials import credential_at
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import TokenRecord
from fleet_memory.similarity import NO_BUILD, Embedder
from fleet_memory.stores import Document, Query, Store

MAX_NAMED: Final = 25  # documents of a kind that a report names; the rest is counted. Chosen


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

    Every document of the fleet is decoded; those that cannot be are named, and those with a
    credential unless the policy allows it. Billed 1 read for each document.
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
    health, paths = await store.check(), FleetPaths(fleet_id)
    rows: dict[str, object] = {
        "intact": health.intact,
        "schemaVersion": health.schema_version,
        "programs": await Programs(store, fleet_id).count(),
        "documents": health.documents,
    }
    codecs = {**COLLECTIONS, "tokens": lambda each: TokenRecord.from_fields(each.fields)}
    unreadable, credentials = list[str](), list[str]()

    def look(group: str, documents: list[Document]) -> None:
        for document in documents:
            value = decoded(document, codecs[group])
            if isinstance(value, UnreadableDocument):
                unreadable.append(str(value))
            elif value and (credential := credential_at(texts_of(value.wire()))):
                credentials.append(credential_place(credential, f"{group}/{document.ref.id}"))

    for group in codecs:
        async for documents in document_blocks(store, Query(paths.collection(group))):
            await to_thread.run_sync(look, group, documents)
    (document,) = await store.get(paths.policy)
    policy = decoded(document, versioned(Policy)) if document else None
    if isinstance(policy, UnreadableDocument):
        unreadable.append(str(policy))
    elif policy and policy.value.secrets == "allow":
        credentials.clear()
    try:
        await Snapshots(store, paths).read()
    except (ConflictError, DocumentRejectedError) as error:
        unreadable.append(f"the snapshot that boot reads: {error}")
    if unreadable:
        rows |= {"unreadable": unreadable[:MAX_NAMED], "unreadableCount": len(unreadable)}
    if credentials:
        rows |= {"credentials": credentials[:MAX_NAMED], "credentialCount": len(credentials)}
    return CheckReport(rows, health.intact and not unreadable and not credentials)
