"""Carry out one of `changes.CHANGES`, to be killed meanwhile: `python change.py ADDRESS FLEET
NAME`.

It prints a line when everything is loaded and open, and another when the change is carried out.
Each publication takes one entry, and each shard of the snapshot has one, so that publishing takes
many commits.
"""

import sys

import anyio
from changes import CHANGES, NOW

from fleet_memory.fleet import Fleet
from fleet_memory.repositories import snapshots
from fleet_memory.server.composition import open_store
from fleet_memory.settings import load
from fleet_memory.similarity.lexical import Lexical


async def main(address: str, fleet_id: str, name: str) -> None:
    store = open_store(load({"store": address}, {}).store)
    fleet = Fleet.on(store, fleet_id, Lexical(), lambda: NOW)
    await fleet.last_runs.read()
    print("open", flush=True)  # noqa: T201 - the test reads it
    await CHANGES[name].carry_out(fleet)
    print("done", flush=True)  # noqa: T201 - the same
    await store.close()


vars(snapshots).update(
    MAX_SNAPSHOT_SHARD_BYTES=1, MAX_ENTRIES_PER_PUBLICATION=1
)  # in this process alone
anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3])
