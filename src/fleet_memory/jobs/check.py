"""Whether a memory can be used: what `fleet-memory check` shows."""

from contextlib import suppress
from typing import NamedTuple

from fleet_memory.errors import EmbedderError
from fleet_memory.server.composition import open_embedder, open_store
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile


class CheckReport(NamedTuple):
    """Rows to show, and whether everything is as it should be."""

    rows: dict[str, object]
    healthy: bool


async def checkup(settings: Settings) -> CheckReport:
    """Read the whole store and try the embedder; nothing is created. Raises the store's errors."""
    embedder = open_embedder(settings)
    with suppress(EmbedderError):  # told below
        await embedder.vectors(["Does it load?"])
    memory, intact = await _memory(settings)
    similarity = {"embedder": embedder.name} | ({"degraded": embedder.degraded} if embedder.degraded else {})
    return CheckReport(memory | similarity, intact and not embedder.degraded)


async def _memory(settings: Settings) -> tuple[dict[str, object], bool]:
    match settings.store:
        case SqliteFile(path):
            place: dict[str, object] = {"store": "sqlite", "file": str(path.absolute())}
            if not path.exists():
                return place | {"exists": False}, True
        case database:
            place = {"store": "firestore", "project": database.project, "database": database.database}
    store = open_store(settings.store)
    try:
        health = await store.check()
    finally:
        await store.close()
    return place | {
        "intact": health.intact,
        "schemaVersion": health.schema_version,
        "documents": health.documents,
    }, health.intact
