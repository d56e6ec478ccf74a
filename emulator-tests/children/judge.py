"""Judge the pairs of one program, all of them the same, in a call each: `python judge.py ADDRESS
FLEET PROGRAM`.

It prints a line when everything is loaded and open, waits for one, and prints the outcome of each
verdict. It leaves comparing lessons to another process, as the servers of a large fleet do.
"""

import sys
from dataclasses import replace

import anyio
from anyio import to_thread
from changes import verdict
from judged_pairs import NOW, name, pairs_of

from fleet_memory.errors import FleetMemoryError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.server.composition import open_store
from fleet_memory.settings import load
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.tools.core.judging import pattern_consolidate


async def main(address: str, fleet_id: str, program: str) -> None:
    store = open_store(load({"store": address}, {}).store)
    fleet = replace(Fleet.on(store, fleet_id, Lexical(), lambda: NOW), max_programs_read=0)
    await fleet.last_runs.read()
    print("open", flush=True)  # noqa: T201 - the test reads it
    await to_thread.run_sync(sys.stdin.readline)
    for pair in pairs_of(int(program)):
        given = verdict(pair.text, pair.other, "same")
        try:
            answer = await pattern_consolidate(
                fleet, no_progress, name(int(program)), verdicts=(given,)
            )
            outcome = " ".join(one.error or one.state or "" for one in answer.judged or ())
        except FleetMemoryError as error:
            outcome = f"{error.code}: {error}"
        print(outcome, flush=True)  # noqa: T201 - the test reads it
    await store.close()


anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3])
