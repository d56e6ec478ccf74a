"""An import that is killed loses nothing, and leaves a memory that can be read; the same import
again completes it.
"""

import os
import random
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import to_thread
from fleets import NOW, consolidate, fleet_on, learn
from kills import KILLS

from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import open_store
from fleet_memory.settings import load
from fleet_memory.stores import Store
from tests import forked
from tests.moving import export_to, known_to_agents

pytestmark = [pytest.mark.anyio, pytest.mark.kills]

PROGRAMS = tuple(f"program-{number}" for number in range(12))
LATER = "2026-03-08T12:00:00Z"


@asynccontextmanager
async def open_memory(address: str) -> AsyncIterator[Store]:
    """Open the store at an address, for jobs that need no server."""
    store = open_store(load({"store": address}, {}).store)
    try:
        yield store
    finally:
        await store.close()


async def fill(fleet: Fleet, *names: str) -> None:
    """Let two programs share lessons, and the others learn one each."""
    for program in PROGRAMS[:2]:
        await learn(fleet, program, *names)
    for program in PROGRAMS[2:]:
        await learn(fleet, program, f"{names[0]} of {program}".replace(" ", "-"))
    await consolidate(fleet)


def run(
    command: str, address: str, fleet: str, *more: str, seconds: float | None = None
) -> int | None:
    """Run a command, killed after so many seconds; return its exit code, None for one that was
    killed.
    """
    line = [
        *forked.words(),
        command,
        *more,
        "--store",
        address,
        "--fleet",
        fleet,
    ]
    environment = os.environ | {"FLEET_MEMORY_EMBEDDER": "lexical"}
    with subprocess.Popen(  # noqa: S603 - ours
        line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as child:
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return None


def bring(address: str, fleet: str, file: Path, *, seconds: float | None = None) -> int | None:
    return run("import", address, fleet, str(file), "--yes", "--now", LATER, seconds=seconds)


async def memory_of(fleet: Fleet) -> object:
    """Return the knowledge that agents see of a fleet: its programs, and the contributors of its
    entries.
    """
    programs = {
        one.program.program_id: known_to_agents(one.program) for one in await fleet.programs.all()
    }
    entries = [one.entry for one in await fleet.knowledge.all() if one.entry]
    return programs, {
        entry.key: [line.program_id for line in entry.provenance] for entry in entries
    }


async def lessons_of(fleet: Fleet) -> set[tuple[str, str]]:
    return {
        (one.program.program_id, id_)
        for one in await fleet.programs.all()
        for id_ in one.program.patterns
    }


async def test_an_import_that_is_killed_loses_nothing_and_the_next_completes_it(
    store_address: str, tmp_path: Path
) -> None:
    file, rng = tmp_path / "memory.jsonl", random.Random(14)  # noqa: S311 - moments of kills
    async with open_memory(store_address) as store:
        source = fleet_on(store, NOW, "source")
        await fill(source, "ash", "birch", "cedar")
        await export_to(source, file)
        for fleet in ("whole", *(f"killed-{number}" for number in range(KILLS))):
            await fill(fleet_on(store, NOW, fleet), "dogwood", "elm")
        own = await lessons_of(fleet_on(store, NOW, "whole"))
    began = time.perf_counter()
    assert await to_thread.run_sync(bring, store_address, "whole", file) == 0
    took_s = time.perf_counter() - began
    for number in range(KILLS):
        name, after = f"killed-{number}", rng.uniform(0.3, 1.0) * took_s
        await to_thread.run_sync(lambda: bring(store_address, name, file, seconds=after))  # noqa: B023 - awaited here
        assert await to_thread.run_sync(run, "doctor", store_address, name, "store") == 0
        async with open_memory(store_address) as store:
            assert await lessons_of(fleet_on(store, NOW, name)) >= own
        assert await to_thread.run_sync(bring, store_address, name, file) == 0
        async with open_memory(store_address) as store:
            assert await memory_of(fleet_on(store, NOW, name)) == await memory_of(
                fleet_on(store, NOW, "whole")
            )
