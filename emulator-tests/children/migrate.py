"""Migrate a memory that an earlier version wrote, to be killed meanwhile: `python migrate.py
ADDRESS NOW`.

It prints a line when everything is loaded and open, and another when the migration has ended.
"""

import sys
from datetime import datetime

import anyio

from fleet_memory.jobs.migration import needs_migration
from fleet_memory.server.composition import open_store
from fleet_memory.settings import load
from tests.older import fleet_of, migrated


async def main(address: str, now: str) -> None:
    store = open_store(load({"store": address}, {}).store)
    fleet = fleet_of(store, datetime.fromisoformat(now))
    await needs_migration(fleet)
    print("open", flush=True)  # noqa: T201 - the test reads it
    await migrated(fleet)
    print("done", flush=True)  # noqa: T201 - the same
    await store.close()


anyio.run(main, sys.argv[1], sys.argv[2])
