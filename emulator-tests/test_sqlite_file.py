"""Properties of files alone: damage, places, permissions, a full disk, locks, and the report of
`check`.
"""

import asyncio
import json
import os
import sqlite3
import sys
import threading
from collections import UserDict
from collections.abc import AsyncIterator, Callable, ItemsView
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from fleet_memory.errors import (
    DocumentRejectedError,
    StoreError,
    StoreRejectedError,
    StoreUnavailableError,
)
from fleet_memory.stores import ABSENT, OTHER_SHAPE, SHAPE, Json, Query, Ref, StoreHealth, Write
from fleet_memory.stores.sqlite import SqliteStore, open_database
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

CHILDREN = Path(__file__).parent / "children"
ENTRIES = Query("fleets/f1/gsp")

OTHER_FILE = "point FLEET_MEMORY_STORE at another file"
BACKUP = f"restore a backup, or {OTHER_FILE}; run `fleet-memory doctor store`."
CORRUPT = f"The memory file is corrupt: {BACKUP}"
NO_DATABASE = f"The memory file is not a database: {BACKUP}"
FOREIGN = f"The memory file is another program's database: {OTHER_FILE}."
NO_ACCESS = (
    "The memory file cannot be opened: it must be a file that this user may read and write, in "
    "a folder where this"
    f" user may create files. Change that, or {OTHER_FILE}."
)
READ_ONLY = (
    "The memory file, its -wal or -shm file or their folder is read-only: let this user write "
    "them all, or"
    f" {OTHER_FILE}."
)
FULL = (
    "The memory file cannot grow; nothing was written. Free disk space or raise the quota, "
    "then call again."
)
LOCKED = (
    "Another program keeps the memory file locked; nothing was written. Call again in a moment."
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(path, wait_s=0.1)
    yield opened
    await opened.close()


async def fill(path: Path, entries: int = 50) -> None:
    store = SqliteStore(path)
    writes = [
        Write(Ref(ENTRIES.collection, f"e{n}"), {"n": n, "text": "x" * 2000}, ABSENT)
        for n in range(entries)
    ]
    await store.commit(*writes)
    await store.close()


def execute(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def overwrite(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


async def run_child(name: str, *arguments: object) -> bytes:
    with anyio.fail_after(HANG_S):
        done = await anyio.run_process(
            [sys.executable, str(CHILDREN / name), *map(str, arguments)], stderr=None
        )
    return done.stdout


async def refusal(store: SqliteStore) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await store.find(ENTRIES)
    return caught.value


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda path: path.write_text("A memory is no text. " * 500), NO_DATABASE),
    "a damaged header": (lambda path: overwrite(path, 0, b"\0" * 16), NO_DATABASE),
    "cut off": (lambda path: os.truncate(path, path.stat().st_size // 2), CORRUPT),
    "damaged pages": (
        lambda path: overwrite(path, 4096, b"\xff" * (path.stat().st_size - 4096)),
        CORRUPT,
    ),
    "a document that is no JSON": (
        lambda path: execute(path, "update docs set body = x'7b'"),
        CORRUPT,
    ),
    "a document that is no UTF-8": (
        lambda path: execute(path, "update docs set body = cast(x'ff' as text)"),
        CORRUPT,
    ),
    "the shape of 0.2.0": (lambda path: execute(path, "pragma user_version = 2"), OTHER_SHAPE),
    "a newer shape": (lambda path: execute(path, "pragma user_version = 99"), OTHER_SHAPE),
    "another application id": (lambda path: execute(path, "pragma application_id = 7"), FOREIGN),
    "no application id": (lambda path: execute(path, "pragma application_id = 0"), FOREIGN),
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_bad_file_is_refused_with_advice_until_it_is_replaced(
    damage: str, path: Path, store: SqliteStore
) -> None:
    await fill(path)
    file, (spoil, message) = anyio.Path(path), DAMAGE[damage]
    good = await file.read_bytes()
    spoil(path)
    spoilt = await file.read_bytes()
    for _ in range(2):
        error = await refusal(store)
        assert (isinstance(error, StoreRejectedError), str(error)) == (True, message)
        assert str(path) in error.operator_detail
    assert await file.read_bytes() == spoilt
    await file.write_bytes(good)
    assert len(await store.find(ENTRIES)) == 50


def a_folder(path: Path) -> None:
    path.mkdir(parents=True)


def a_file_as_folder(path: Path) -> None:
    path.parent.touch()


def a_file_higher_up(path: Path) -> None:
    path.parent.symlink_to(path.parent.parent / "file" / "folder")
    (path.parent.parent / "file").touch()


PLACES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a folder": (a_folder, NO_ACCESS),
    "below a file": (a_file_as_folder, NO_ACCESS),
    "far below a file": (a_file_higher_up, NO_ACCESS),
}


@pytest.mark.parametrize("place", PLACES)
async def test_a_place_where_no_file_can_be_is_refused_with_advice(
    place: str, path: Path, store: SqliteStore
) -> None:
    prepare_place, message = PLACES[place]
    prepare_place(path)
    error = await refusal(store)
    assert (type(error), str(error)) == (StoreRejectedError, message)
    assert str(path) in error.operator_detail


async def test_the_database_of_another_program_is_left_as_it_is(
    path: Path, store: SqliteStore
) -> None:
    path.parent.mkdir()
    execute(path, "create table bookmarks(url)")
    before = await anyio.Path(path).read_bytes()
    assert str(await refusal(store)) == FOREIGN
    assert await anyio.Path(path).read_bytes() == before


async def test_a_file_of_another_shape_is_left_as_it_is(path: Path, store: SqliteStore) -> None:
    await fill(path)
    execute(path, "pragma user_version = 2", "pragma wal_checkpoint(truncate)")
    before = await anyio.Path(path).read_bytes()
    assert str(await refusal(store)) == OTHER_SHAPE
    with pytest.raises(StoreError, match="export"):
        await store.commit(Write(Ref(ENTRIES.collection, "late"), {"n": 1}))
    assert await anyio.Path(path).read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "update docs set body = x'7b' where id = 'bad'",
        "update docs set body = x'ff' where id = 'bad'",
        "update fields set value = x'ff' where key = 'k1'",
        "update fields set name = 'other' where key = 'k1'",
        """update docs set body = '{"map":"text"}' where id = 'bad'""",
        "update docs set body = '{}' where id = 'bad'",
    ],
)
async def test_a_damaged_document_is_named_and_the_others_go_on(
    damage: str, path: Path, store: SqliteStore
) -> None:
    bad, good = Ref("entries", "bad"), Ref("entries", "good")
    await store.commit(
        Write(bad, {"n": 1, "asked": [1], "map": {"k1": "one"}}), Write(good, {"n": 1})
    )
    await store.close()
    execute(path, damage)
    for verb in (store.get(bad), store.commit(Write(bad, {"n": 2}))):
        with pytest.raises(DocumentRejectedError) as caught:
            await verb
        assert "entries/bad" in caught.value.operator_detail
    await store.commit(Write(good, {"n": 2}))
    (document,) = await store.get(good)
    assert document is not None
    assert document.fields == {"n": 2}


REJECTED = "StoreRejectedError"
MODES: dict[str, tuple[int, int, list[str], list[str]]] = {
    "a read-only file": (0o444, 0o755, ["ok", ""], [REJECTED, READ_ONLY]),
    "an unreadable file": (0o000, 0o755, [REJECTED, NO_ACCESS], [REJECTED, NO_ACCESS]),
    "a read-only folder": (0o644, 0o555, [REJECTED, READ_ONLY], [REJECTED, READ_ONLY]),
    "an unreadable folder": (0o644, 0o000, [REJECTED, NO_ACCESS], [REJECTED, NO_ACCESS]),
}


@pytest.mark.parametrize("mode", MODES)
async def test_missing_permissions_are_named(mode: str, path: Path) -> None:
    await fill(path)
    of_file, of_folder, read, write = MODES[mode]
    await anyio.Path(path).chmod(of_file)
    await anyio.Path(path.parent).chmod(of_folder)
    answer = json.loads(await run_child("ordinary_user.py", path))
    await anyio.Path(path.parent).chmod(0o755)
    assert answer == {"read": read, "write": write}


async def test_a_new_file_in_a_read_only_folder_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o555)
    answer = json.loads(await run_child("ordinary_user.py", path))
    assert answer == {"read": [REJECTED, NO_ACCESS], "write": [REJECTED, NO_ACCESS]}


async def test_a_new_memory_is_readable_by_its_user_alone(path: Path, store: SqliteStore) -> None:
    await store.commit(Write(Ref("entries", "e"), {"n": 1}))
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_a_full_disk_refuses_writes_loses_nothing_and_is_usable_again_when_there_is_room(
    path: Path,
) -> None:
    answer = json.loads(await run_child("full_disk.py", path))
    stored = answer["stored"]
    assert stored > 0
    assert answer == {
        "errors": [["StoreUnavailableError", FULL]] * 3,
        "stored": stored,
        "kept": stored,
        "after": {"entries": stored + 1},
        "intact": True,
    }


async def test_a_file_locked_by_another_process_can_be_read_and_is_written_once_it_is_free(
    path: Path, store: SqliteStore
) -> None:
    await fill(path)
    write = Write(Ref("entries", "new"), {"n": 1})
    with anyio.fail_after(HANG_S):
        async with await anyio.open_process(
            [sys.executable, str(CHILDREN / "hold_lock.py"), str(path)]
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdin is not None
            assert await holder.stdout.receive() == b"locked\n"
            with pytest.raises(StoreUnavailableError) as caught:
                await store.commit(write)
            assert (type(caught.value), str(caught.value)) == (StoreUnavailableError, LOCKED)
            assert await store.total(ENTRIES) == 50
            patient = SqliteStore(path, wait_s=HANG_S)
            with anyio.move_on_after(0.05) as scope:
                await patient.commit(write)
            assert scope.cancelled_caught
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(patient.commit, write)
                await holder.stdin.aclose()
            await patient.close()
    assert await store.total(Query("entries")) == 1


async def test_a_verb_waits_for_the_work_of_a_caller_that_asyncio_cancelled(
    store: SqliteStore,
) -> None:
    begun, end = threading.Event(), threading.Event()

    class SlowFields(UserDict[str, Json]):
        """Fields whose commit lasts until `end` is set."""

        def items(self) -> ItemsView[str, Json]:
            begun.set()
            assert end.wait(HANG_S)
            return super().items()

    slow, other = Ref("entries", "slow"), Ref("entries", "other")
    await store.commit(Write(other, {"n": 0}))
    with anyio.fail_after(HANG_S):
        # as Ctrl-C and a server that stops do: anyio's own cancellation waits for the thread
        cancelled = asyncio.ensure_future(store.commit(Write(slow, SlowFields({"n": 1}))))
        await to_thread.run_sync(begun.wait, HANG_S)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.commit, Write(other, {"n": 1}))
            await anyio.sleep(0.05)
            end.set()
    assert [document and document.fields for document in await store.get(slow, other)] == [
        {"n": 1},
        {"n": 1},
    ]


async def test_opening_waits_for_nothing_and_creates_nothing_before_the_first_verb(
    path: Path,
) -> None:
    store = SqliteStore(path)
    await store.close()
    assert not path.parent.exists()
    assert await store.get(Ref("entries", "e")) == [None]
    await store.close()
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


def test_a_commit_is_flushed_to_the_disk_before_it_returns(tmp_path: Path) -> None:
    db = open_database(tmp_path / "memory.db")
    settings = [
        db.execute(f"pragma {name}").fetchone()
        for name in ("synchronous", "fullfsync", "journal_mode")
    ]
    db.close()
    assert settings == [(2,), (1,), ("wal",)]  # 2 is FULL: a power cut cannot be staged here


async def test_a_file_that_was_replaced_or_deleted_is_opened_again(
    path: Path, store: SqliteStore
) -> None:
    await fill(path.with_name("backup.db"), entries=3)
    await store.commit(Write(Ref(ENTRIES.collection, "old"), {"n": 1}))
    for file in path.parent.glob("memory.db*"):
        file.unlink()
    path.with_name("backup.db").rename(path)
    assert await store.total(ENTRIES) == 3
    await anyio.Path(path).unlink()
    await store.commit(Write(Ref(ENTRIES.collection, "new"), {"n": 1}))
    await store.close()
    assert await store.total(ENTRIES) == 1


async def test_check_finds_damage_that_reading_does_not(path: Path, store: SqliteStore) -> None:
    await fill(path)
    execute(path, "pragma writable_schema = on", "delete from sqlite_master where name = 'by_id'")
    assert await store.check() == StoreHealth(SHAPE, intact=False, documents={"gsp": 50})
