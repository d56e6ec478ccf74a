"""Memories that older versions wrote, for tests: the data of emulator-tests, opened in this
process.
"""

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import leased
from fleet_memory.jobs.migration import Migrated, migrate
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Json, Query, Store

DATA: Final = Path(__file__).parent.parent / "emulator-tests" / "data"
MERGED: Final = "merged-by-numbers"
OLDEST: Final = "version-0.1"
TASK: Final = "pattern/task-claiming/before-claiming-task-make-sure-status"
HTTP: Final = "pattern/http/set-explicit-timeout-every-outbound-http"
RETRY_3: Final = "Retry 3 times before giving up on a claim"
RETRY_30: Final = "Retry 30 times before giving up on a claim"
_UNDATED: Final = re.compile(r',"openedAt":"[^"]*"')
GROUPS: Final = ("programs", "gsp", "pairs", "waiting", "ledger", "archive", "history")
SPRING: Final = datetime(
    2026, 3, 20, 12, tzinfo=UTC
)  # after all that happened in the memory of `MERGED`


def unpacked(version: str, to: Path) -> Path:
    """Write the SQLite file of a version's memory."""
    to.write_bytes(gzip.decompress((DATA / version / "memory.db.gz").read_bytes()))
    return to


def exported(version: str, to: Path) -> Path:
    """Write the export of a version's memory."""
    to.write_bytes(gzip.decompress((DATA / version / "memory.jsonl.gz").read_bytes()))
    return to


def fleet_of(store: Store, now: datetime = SPRING) -> Fleet:
    """Return the default fleet of a store."""
    return Fleet.on(store, "default", Lexical(), lambda: now)


async def migrated(fleet: Fleet) -> Migrated:
    """Migrate as a maintainer's run does."""
    async with leased(fleet) as writer:
        assert writer is not None
        return await migrate(fleet, writer)


async def everything(fleet: Fleet) -> dict[str, dict[str, Json]]:
    """Return the documents of the fleet by path, but leases and snapshots."""
    store, paths = fleet.programs.store, fleet.programs.paths
    found = [one for group in GROUPS for one in await store.find(Query(paths.collection(group)))]
    found += [one for one in await store.get(paths.policy) if one]
    return {"/".join(one.ref): one.fields for one in found}


async def entries(fleet: Fleet) -> dict[str, Entry]:
    """Return the entries of the fleet by key."""
    return {one.entry.key: one.entry for one in await fleet.knowledge.all() if one.entry}


def undated(documents: dict[str, dict[str, Json]]) -> dict[str, dict[str, Json]]:
    """Return documents without the times at which pairs were opened, which differ between runs."""
    return {
        path: {
            name: _UNDATED.sub("", value) if isinstance(value, str) else value
            for name, value in fields.items()
        }
        for path, fields in documents.items()
    }
