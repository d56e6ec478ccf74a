"""What a commit writes into a memory file, and what another process reads of it."""

import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread
import pytest

from fleet_memory.errors import ConflictError, DocumentRejectedError
from fleet_memory.stores import ABSENT, Document, Json, Query, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore, open_database
from fleet_memory.stores.sqlite.documents import find
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

CHILD = Path(__file__).parent / "children" / "write_document.py"
HOME = "fleets/f1/programs"
BASHER, ISO = Ref(HOME, "basher"), Ref(HOME, "iso")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    await opened.close()


def lessons(number: int) -> dict[str, Json]:
    return {f"k{n}": f"{n}" * 300 for n in range(number)}


async def read(store: SqliteStore, ref: Ref) -> Document:
    (document,) = await store.get(ref)
    assert document is not None
    return document


def patterns(document: Document) -> dict[str, str]:
    return cast("dict[str, str]", document.fields["patterns"])


async def test_a_caller_that_changes_its_values_after_the_commit_changes_no_document(
    store: SqliteStore,
) -> None:
    tags: list[Json] = ["one"]
    fields: dict[str, Json] = {"tags": tags, "map": {"k": tags}}
    await store.commit(Write(BASHER, fields, ABSENT))
    tags.append("two")
    fields.clear()
    assert (await read(store, BASHER)).fields == {"tags": ["one"], "map": {"k": ["one"]}}


async def test_a_commit_that_conflicts_leaves_the_documents_that_were_read(
    store: SqliteStore,
) -> None:
    await store.commit(Write(BASHER, {"n": 1}), Write(ISO, {"n": 1}))
    before = await read(store, BASHER)
    with pytest.raises(ConflictError):
        await store.commit(Write(BASHER, {"n": 2}, before.revision), Write(ISO, {"n": 2}, ABSENT))
    assert await read(store, BASHER) == before


@pytest.mark.parametrize("unfit", ["x" * 2_000_000, "\ud800"])
async def test_a_write_that_is_refused_leaves_the_documents_that_were_read(
    unfit: str, store: SqliteStore
) -> None:
    await store.commit(Write(BASHER, {"n": 1}), Write(ISO, {"n": 1}))
    before = await read(store, BASHER)
    with pytest.raises(DocumentRejectedError):
        await store.commit(Write(BASHER, {"n": 2}), Write(ISO, {"text": unfit}))
    await store.commit(Write(ISO, {"n": 3}))
    assert await read(store, BASHER) == before


@pytest.mark.parametrize("kind", ["changed", "deleted", "created"])
async def test_a_document_that_another_process_has_touched_is_read_again(
    kind: str, path: Path, store: SqliteStore
) -> None:
    await store.commit(Write(BASHER, {"n": 1, "patterns": lessons(3)}))
    before = await read(store, BASHER)
    with anyio.fail_after(HANG_S):
        await anyio.run_process([sys.executable, str(CHILD), str(path), *BASHER, kind], stderr=None)
    other: dict[str, Json] = {"by": "another process"}
    after = {"changed": {**before.fields, **other}, "deleted": None, "created": other}[kind]
    (document,) = await store.get(BASHER)
    assert (document and document.fields) == after
    assert [each.fields for each in await store.find(Query(HOME))] == (
        [] if after is None else [after]
    )
    for expect in (before.revision, ABSENT) if document else (before.revision,):
        with pytest.raises(ConflictError):
            await store.commit(Write(BASHER, {"n": 2}, expect))
    await store.commit(Write(BASHER, {"n": 3}))
    assert (await read(store, BASHER)).fields == {**(after or {}), "n": 3}


async def test_another_file_in_the_place_of_the_first_is_read(
    path: Path, store: SqliteStore, tmp_path: Path
) -> None:
    backup = SqliteStore(tmp_path / "backup.db")
    await backup.commit(Write(BASHER, {"n": "backup"}))
    await backup.close()
    await store.commit(Write(BASHER, {"n": 1}))
    for file in path.parent.glob("memory.db*"):
        file.unlink()
    (tmp_path / "backup.db").rename(path)
    assert (await read(store, BASHER)).fields == {"n": "backup"}


async def logged_bytes(path: Path, entries: int) -> int:
    """Return by how much a commit of one entry of a map lets the write-ahead log grow, at so many
    entries.
    """
    store = SqliteStore(path)
    await store.commit(Write(BASHER, {"n": 1, "patterns": lessons(entries)}))
    before, log = await read(store, BASHER), anyio.Path(f"{path}-wal")
    size = (await log.stat()).st_size
    await store.commit(Write(BASHER, {"n": 2, "patterns.k1": "x" * 300}, before.revision))
    grown = (await log.stat()).st_size - size
    await store.close()
    return grown


async def test_a_commit_writes_as_much_to_a_large_document_as_to_a_small_one(
    tmp_path: Path,
) -> None:
    few, many = [await logged_bytes(tmp_path / f"{entries}.db", entries) for entries in (10, 500)]
    assert 0 < many <= 16_000
    assert many <= 2 * few


async def test_entries_are_read_back_after_any_order_of_adding_and_removing(
    store: SqliteStore,
) -> None:
    await store.commit(Write(BASHER, {"n": 0, "patterns": lessons(3)}))
    kept = dict[str, Json](lessons(3))
    for number in range(60):
        before = await read(store, BASHER)
        added: dict[str, Json] = {f"{letter}{number}": letter * 20 for letter in "ab"[: number % 3]}
        gone = [name for place, name in enumerate(kept) if place % 4 == number % 5]
        kept = {name: value for name, value in (kept | added).items() if name not in gone}
        changes = {f"patterns.{name}": value for name, value in added.items()} | {
            f"patterns.{name}": None for name in gone
        }
        await store.commit(Write(BASHER, {"n": number + 1, **changes}, before.revision))
        assert patterns(await read(store, BASHER)) == kept
    await store.close()
    assert patterns(await read(store, BASHER)) == kept


async def test_what_a_commit_removes_is_not_written_once_more(
    path: Path, store: SqliteStore
) -> None:
    await store.commit(Write(BASHER, {"n": 1, "text": "x" * 100_000}))
    log = anyio.Path(f"{path}-wal")
    size = (await log.stat()).st_size
    await store.commit(Write(BASHER, {"n": 2, "text": None}))
    assert (await log.stat()).st_size - size <= 24_000  # of the 100,000 that go


async def test_the_index_has_the_type_of_the_newest_value(path: Path, store: SqliteStore) -> None:
    types = []
    for value in (1, 1.0, 0, -0.0, 0):
        await store.commit(Write(BASHER, {"n": value}))
        with closing(sqlite3.connect(path)) as db:
            types += db.execute("select typeof(value) from fields").fetchall()
    assert types == [("integer",), ("real",), ("integer",), ("real",), ("integer",)]


def steps(path: Path) -> int:
    """Return how many steps of SQLite's machine the first 20 of many equal documents take."""
    taken = 0

    def count() -> None:
        nonlocal taken
        taken += 1

    with closing(open_database(path)) as db:
        db.set_progress_handler(count, 1)
        assert len(find(db, Query(HOME, {"dirty": True}, limit=20))) == 20
    return taken


async def test_the_first_of_many_equal_documents_are_found_as_fast_as_those_of_few(
    tmp_path: Path,
) -> None:
    taken = []
    for equal in (300, 3_000):
        store = SqliteStore(path := tmp_path / f"{equal}.db")
        for start in range(0, equal, 300):
            some = range(start, start + 300)
            await store.commit(*(Write(Ref(HOME, f"d{n}"), {"dirty": True, "n": n}) for n in some))
        await store.close()
        taken.append(await anyio.to_thread.run_sync(steps, path))
    few, many = taken
    assert 0 < many <= 2 * few
