"""Whether a memory can be used: what `fleet-memory check` shows."""

from contextlib import suppress
from typing import NamedTuple

from fleet_memory.errors import EmbedderError
from fleet_memory.similarity import Embedder
from fleet_memory.stores import Store


class Report(NamedTuple):
    """Rows to show, and whether everything is as it should be."""

    rows: dict[str, object]
    healthy: bool


async def check_memory(store: Store | None, embedder: Embedder) -> Report:
    """Read the whole store, None for one that does not exist yet, and try the embedder. Raises the store's errors."""
    with suppress(EmbedderError):  # `degraded` has its words
        await embedder.vectors(["Does it load?"])
    memory = await _memory(store) if store else Report({"exists": False}, healthy=True)
    similarity = {"embedder": embedder.name} | ({"degraded": embedder.degraded} if embedder.degraded else {})
    return Report(memory.rows | similarity, memory.healthy and not embedder.degraded)


async def _memory(store: Store) -> Report:
    health = await store.check()
    rows = {"intact": health.intact, "schemaVersion": health.schema_version, "documents": health.documents}
    return Report(rows, health.intact)
