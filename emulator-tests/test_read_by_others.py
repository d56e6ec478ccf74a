"""A process that keeps documents decoded shows at once every change, deletion and addition of
another process.
"""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from changes import NOW, store

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.knowledge import Snapshot
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

STEP = Path(__file__).parent / "children" / "step.py"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def here(path: Path) -> AsyncIterator[Fleet]:
    memory = SqliteStore(path)
    with anyio.fail_after(HANG_S):
        yield Fleet.on(memory, "f1", Lexical(), lambda: NOW)
    await memory.close()


async def take_step(path: Path, *step: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    await anyio.run_process(
        [sys.executable, str(STEP), str(path), *step], stderr=None, env=environment
    )


async def seen(fleet: Fleet) -> tuple[Program, Snapshot]:
    return await fleet.programs.read("basher"), await fleet.knowledge.snapshots.read()


async def seen_by_another(path: Path) -> tuple[Program, Snapshot]:
    memory = SqliteStore(path)
    found = await seen(Fleet.on(memory, "f1", Lexical(), lambda: NOW))
    await memory.close()
    return found


def delete(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


async def test_each_step_of_another_process_shows_in_the_next_read(path: Path, here: Fleet) -> None:
    shown: list[tuple[list[tuple[str, str, int]], list[str]]] = []
    for step in (
        ("learn", "first", "Check the status before claiming a task"),
        ("learn", "second", "Release the lease when a task ends"),
        ("confirm", "first"),
        ("publish", "Quote every variable of a shell script"),
        ("forget", "first"),
    ):
        await take_step(path, *step)
        program, snapshot = await seen(here)
        assert (program, snapshot) == await seen_by_another(path)
        lessons = [(one.id, one.pattern, one.confirmations) for one in program.patterns.values()]
        shown.append((lessons, [row.pattern for row in snapshot.rows]))
    first, second = "Check the status before claiming a task", "Release the lease when a task ends"
    shared = ["Quote every variable of a shell script"]
    assert shown == [
        ([("first", first, 0)], []),
        ([("first", first, 0), ("second", second, 0)], []),
        ([("first", first, 1), ("second", second, 0)], []),
        ([("first", first, 1), ("second", second, 0)], shared),
        ([("second", second, 0)], shared),
    ]


async def test_a_change_between_two_of_ours_is_kept_and_shown(path: Path, here: Fleet) -> None:
    await store(here, "basher", "first", "Check the status before claiming a task")
    await take_step(path, "confirm", "first")
    await store(here, "basher", "second", "Release the lease when a task ends")
    await take_step(path, "forget", "first")
    await store(here, "basher", "third", "Sort the keys before hashing an object")
    program, _ = await seen(here)
    assert (program, Snapshot()) == await seen_by_another(path)
    assert list(program.patterns) == ["second", "third"]


async def test_a_memory_that_another_process_made_new_is_read_though_its_revisions_are_those_of_the_old(
    path: Path, here: Fleet
) -> None:
    for text in ("Close the cursor in a finally block", "Freeze the clock in tests of expiry"):
        delete(path)
        await take_step(path, "learn", "first", text)
        await take_step(path, "publish", text)
        program, snapshot = await seen(here)
        assert [lesson.pattern for lesson in program.patterns.values()] == [text]
        assert [row.pattern for row in snapshot.rows] == [text]
        assert (program, snapshot) == await seen_by_another(path)
