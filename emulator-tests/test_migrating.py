"""A memory of an earlier version is migrated alike in each of its forms, and whole after kills at
random moments.
"""

import os
import random
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest
from kills import KILLS, MAX_KILLS
from older_memories import FORMS, emulator_import, open_memory
from settling import settled

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.migration import Migrated, needs_migration
from fleet_memory.rules.knowledge.state import doubts, entry_state
from fleet_memory.stores import Json, Store
from tests.older import (
    MERGED,
    OLDEST,
    SPRING,
    entries,
    everything,
    fleet_of,
    migrated,
    undated,
    unpacked,
)

pytestmark = pytest.mark.anyio

MIGRATE = Path(__file__).parent / "children" / "migrate.py"
LATER = SPRING + timedelta(hours=1)  # the lease of a killed run has expired by then
PATIENCE_S = 600
# Counts of a migration, without the derived documents, which an import leaves behind
COUNTS = {
    MERGED: Migrated(entries=9, programs=4, verdicts_kept=4, verdicts_dropped=1, pairs_opened=4),
    OLDEST: Migrated(entries=10, programs=4, verdicts_kept=1, pairs_opened=3),
}
STATES = {
    MERGED: {"fresh": 4, "contested": 1, "retired": 1, "verify unjudged": 3},
    OLDEST: {"fresh": 4, "contested": 1, "retired": 3, "verify unjudged": 2},
}


@pytest.fixture(params=[MERGED, OLDEST])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=FORMS)
async def memory(version: str, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """A store of this test's own that has the memory of an earlier version."""
    async with open_memory(await FORMS[request.param](version, request)) as store:
        yield store


async def in_a_file(version: str, folder: Path) -> dict[str, dict[str, Json]]:
    """Return the documents of a version's undisturbed memory, migrated in a SQLite file."""
    async with open_memory(str(unpacked(version, folder / "undisturbed.db"))) as store:
        await migrated(fleet_of(store))
        return undated(await everything(fleet_of(store)))


async def states(fleet: Fleet) -> Counter[str]:
    known = (await entries(fleet)).values()
    return Counter(" ".join((entry_state(one, SPRING), *doubts(one))) for one in known)


async def test_every_form_of_a_memory_is_migrated_alike(
    memory: Store, version: str, tmp_path: Path
) -> None:
    fleet = fleet_of(memory)
    assert await needs_migration(fleet)
    result = await migrated(fleet)
    assert result._replace(derived_deleted=0) == COUNTS[version]
    assert await states(fleet) == STATES[version]
    assert undated(await everything(fleet)) == await in_a_file(version, tmp_path)
    assert not await needs_migration(fleet)
    assert await migrated(fleet) == Migrated()


def address_of_a_copy(engine: str, folder: Path, request: pytest.FixtureRequest) -> str:
    name = uuid.uuid4().hex[:12]
    if engine == "sqlite":
        return str(unpacked(MERGED, folder / f"{name}.db"))
    return emulator_import(MERGED, request.getfixturevalue("emulator"), f"test-{name}")


def killed_after(address: str, seconds: float | None) -> float | None:
    """Migrate in a process that is killed so many seconds after it began; return how long it took
    if it was faster.
    """
    command = [sys.executable, str(MIGRATE), address, SPRING.isoformat()]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:  # noqa: S603 - ours
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        began = time.perf_counter()
        if seconds is not None:
            time.sleep(seconds)
            child.kill()
        return time.perf_counter() - began if child.stdout.readline() == b"done\n" else None


@pytest.mark.kills
@pytest.mark.parametrize("engine", ["sqlite", "firestore"])
async def test_a_killed_migration_is_completed_by_the_next(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(10)  # noqa: S311 - chooses when to kill
    expected = await in_a_file(MERGED, tmp_path)
    left = list[int]()
    took_s = await anyio.to_thread.run_sync(
        killed_after, address_of_a_copy(engine, tmp_path, request), None
    )
    assert took_s is not None
    with anyio.fail_after(PATIENCE_S):
        while len(left) < KILLS or (len(set(left)) < 2 and len(left) < MAX_KILLS):
            address = address_of_a_copy(engine, tmp_path, request)
            if (
                await anyio.to_thread.run_sync(killed_after, address, chance.uniform(0, took_s))
                is not None
            ):
                continue
            async with open_memory(address) as store:
                left.append(await settled(partial(old_documents, fleet_of(store))))
                assert len(await entries(fleet_of(store))) == COUNTS[MERGED].entries  # it opens
                await migrated(fleet_of(store, LATER))
                assert undated(await everything(fleet_of(store))) == expected
    assert len(set(left)) > 1, "all the kills came before the first document, or after the last"


async def old_documents(fleet: Fleet) -> int:
    """Return how many documents of the version before are left."""
    return sum(
        bool({"status", "knowledgeSeen"} & fields.keys())
        for fields in (await everything(fleet)).values()
    )
