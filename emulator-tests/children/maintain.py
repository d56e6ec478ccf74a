"""Maintain a fleet once for each line of standard input, and print the outcome: `python maintain.py
ADDRESS FLEET LOG`.

It prints a line when everything is loaded and open, and one after each run: `done`, with the names
of the documents that were skipped, or `busy`. The file LOG gets a line right after it took the
lease, and one right before it gives the lease back.
"""

import os
import sys
from datetime import datetime

import anyio
from anyio import to_thread
from changes import NOW

from fleet_memory.errors import ConflictError, LeaseLostError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.server.composition import open_store
from fleet_memory.settings import load
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Store, Write
from tests.wrapped import ForwardingStore


class LeaseLog(ForwardingStore):
    """A store that writes down when its owner has the maintainer's lease."""

    def __init__(self, store: Store, log: str) -> None:
        super().__init__(store)
        self._log = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    async def commit(self, *writes: Write) -> datetime:
        claim = next((one.fields for one in writes if one.ref.collection.endswith("/leases")), None)
        if claim and datetime.fromisoformat(str(claim["until"])) < NOW:
            self._add("released")
        at = await super().commit(*writes)
        if claim and claim["beat"] == 0:
            self._add("taken")
        return at

    def _add(self, event: str) -> None:
        os.write(self._log, f"{event} {os.getpid()}\n".encode())


async def main(address: str, fleet_id: str, log: str) -> None:
    store = LeaseLog(open_store(load({"store": address}, {}).store), log)
    fleet = Fleet.on(store, fleet_id, Lexical(), lambda: NOW)
    await fleet.last_runs.read()
    print("open", flush=True)  # noqa: T201 - the test reads it
    while await to_thread.run_sync(sys.stdin.readline):
        try:
            outcome = " ".join(["done", *(await maintain_fleet(fleet, no_progress)).skipped])
        except (ConflictError, LeaseLostError) as error:
            outcome = f"busy {error}"
        print(outcome, flush=True)  # noqa: T201 - the same
    await store.close()


anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3])
