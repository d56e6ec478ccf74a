"""Whether a memory can be used: what `fleet-memory check` shows."""

from contextlib import suppress
from typing import NamedTuple

from fleet_memory.errors import EmbedderError
from fleet_memory.similarity import Embedder
from fleet_memory.stores import Store


class CheckReport(NamedTuple):
    """Rows to show, and whether everything is as it should be."""

    rows: dict[str, object]
    healthy: bool


async def check_memory(store: Store | None, embedder: Embedder) -> CheckReport:
    """Read the whole store, None for one that does not exist yet, and try the embedder. Raises the store's errors."""
    with suppress(EmbedderError):  # `degraded` has its words
        await embedder.vectors(["Does it load?"])
    memory = await _memory(store) if store else CheckReport({"exists": False}, healthy=True)
    similarity = {"embedder": embedder.name} | ({"degraded": embedder.degraded} if embedder.degraded else {})
    return CheckReport(memory.rows | similarity, memory.healthy and not embedder.degraded)


async def _memory(store: Store) -> CheckReport:
    health = await store.check()
    rows = {"intact": health.intact, "schemaVersion": health.schema_version, "documents": health.documents}
    return CheckReport(rows, health.intact)
