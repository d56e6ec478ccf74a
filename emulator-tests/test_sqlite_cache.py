"""Reads, decodings and writes that the SQLite engine need not repeat."""

import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import cast

import anyio
import pytest

from fleet_memory.errors import ConflictError, DocumentRejectedError
from fleet_memory.stores import ABSENT, Document, Json, Query, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.stores.sqlite.cache import DocumentCache
from fleet_memory.stores.sqlite.layout import StoredDocument
from fleet_memory.stores.sqlite.rows import apply
from fleet_memory.stores.sqlite.rows import read as read_row
from fleet_memory.stores.sqlite.schema import PAGE_BYTES, open_database
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


async def test_an_unchanged_document_is_the_same_object_at_each_read(store: SqliteStore) -> None:
    await store.commit(Write(BASHER, {"n": 1, "patterns": lessons(3)}), Write(ISO, {"n": 1}))
    first, other = await read(store, BASHER), await read(store, ISO)
    await store.commit(Write(ISO, {"n": 2}))
    assert await read(store, BASHER) is first
    assert (await store.find(Query(HOME)))[0] is first
    assert (await read(store, ISO), other.fields) == (
        Document(ISO, {"n": 2}, (await read(store, ISO)).revision),
        {"n": 1},
    )


async def test_after_a_commit_the_entries_that_stay_are_the_same_objects(
    store: SqliteStore,
) -> None:
    await store.commit(Write(BASHER, {"n": 1, "patterns": lessons(3)}))
    await store.close()
    before = await read(store, BASHER)
    text = "new" * 300
    await store.commit(
        Write(BASHER, {"n": 2, "patterns.k9": text, "patterns.k1": None}, before.revision)
    )
    after = await read(store, BASHER)
    assert patterns(after) == {"k0": "0" * 300, "k2": "2" * 300, "k9": text}
    assert [patterns(after)[key] is patterns(before)[key] for key in ("k0", "k2")] == [True, True]
    assert patterns(after)["k9"] is text
    assert before.fields == {"n": 1, "patterns": lessons(3)}
    await store.close()
    assert await read(store, BASHER) == after


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
    await read(store, ISO)
    await store.commit(Write(ISO, {"n": 3}))
    assert await read(store, BASHER) == before
    other = await read(store, ISO)
    with pytest.raises(DocumentRejectedError):
        await store.commit(Write(BASHER, {"text": unfit}))
    assert await read(store, ISO) is other


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


def stored(number: int, size: int) -> StoredDocument:
    return StoredDocument(Document(Ref(HOME, f"p{number}"), {}, "7"), number, size, {}, {})


def test_the_documents_that_were_read_last_stay_within_the_bounds() -> None:
    cache = DocumentCache(max_documents=3, max_bytes=100)
    known = [stored(number, 10) for number in range(4)]
    for document in known[:3]:
        cache.add(document)
    assert cache.lookup(Ref(HOME, "p0"), 7) is known[0]
    cache.add(known[3])
    assert [cache.lookup(Ref(HOME, f"p{n}"), 7) for n in range(4)] == [
        known[0],
        None,
        known[2],
        known[3],
    ]
    assert cache.lookup(Ref(HOME, "p3"), 8) is None
    large = stored(4, 85)
    cache.add(large)
    assert [cache.lookup(Ref(HOME, f"p{n}"), 7) for n in (0, 2, 3, 4)] == [
        None,
        None,
        known[3],
        large,
    ]
    cache.add(stored(5, 101))
    assert [cache.lookup(Ref(HOME, f"p{n}"), 7) for n in (3, 4, 5)] == [None, None, None]


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
    assert 0 < many <= 8_000
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
    assert (await log.stat()).st_size - size <= 8_000


async def test_a_commit_of_short_fields_writes_the_pages_that_they_lie_on(
    path: Path, store: SqliteStore
) -> None:
    others: dict[str, Json] = {f"f{number}": ["x" * 90] for number in range(60)}
    await store.commit(Write(BASHER, {"n": 10, **others}))
    log, grown = anyio.Path(f"{path}-wal"), list[int]()
    for number in range(11, 21):
        size = (await log.stat()).st_size
        rare: dict[str, Json] = {f"f{number}": [f"{number}" * 45]} if number % 2 else {}
        await store.commit(Write(BASHER, {"n": number, **rare}))
        grown.append((await log.stat()).st_size - size)
    assert max(grown[3::2]) <= 4 * (
        PAGE_BYTES + 24
    )  # the first and second page of the row, two of the index


async def test_the_index_has_the_type_of_the_newest_value(path: Path, store: SqliteStore) -> None:
    types = []
    for value in (1, 1.0, 0, -0.0, 0):
        await store.commit(Write(BASHER, {"n": value}))
        with closing(sqlite3.connect(path)) as db:
            types += db.execute("select typeof(value) from scalars").fetchall()
    assert types == [("integer",), ("real",), ("integer",), ("real",), ("integer",)]


def statements_of(db: sqlite3.Connection, cache: DocumentCache, fields: dict[str, Json]) -> int:
    """Return how many statements a change of a document takes."""
    ran = list[str]()
    db.set_trace_callback(ran.append)
    apply(db, cache, [Write(BASHER, fields)])
    db.set_trace_callback(None)
    return len(ran)


def test_a_commit_takes_one_statement_for_its_document_each_entry_and_each_changed_scalar(
    path: Path,
) -> None:
    cache = DocumentCache()
    with closing(open_database(path)) as db:
        apply(
            db,
            cache,
            [Write(BASHER, {"n": 1, "at": "now", "same": 7, "patterns": lessons(3)}, ABSENT)],
        )
        db.commit()
        document = read_row(db, cache, BASHER)
        assert document is not None
        ran = statements_of(db, cache, {"n": 2, "at": "later", "same": 7, "patterns.k9": "x"})
    assert ran <= 1 + 1 + 1 + 2  # the revision is read; document, entry, two scalars
