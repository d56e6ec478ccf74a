"""The tables of a memory file, and every statement on them; each function runs inside its caller's transaction.

Revisions come from one counter in the file, so none ever repeats, not even for a document created again.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from fleet_memory.errors import ConflictError, DocumentRejectedError, StoreRejectedError
from fleet_memory.stores import ABSENT, Document, Json, Query, Ref, Scalar, StoreHealth, Write
from fleet_memory.stores.limits import MAX_DOCUMENT_BYTES
from fleet_memory.stores.messages import CONFLICT, ORDER_AFTER, UNFIT
from fleet_memory.stores.sqlite.failures import CORRUPT, DOCUMENT_TOO_LARGE, FOREIGN, NEWER_FILE

Indexed: TypeAlias = Scalar | bytes
Migrations: TypeAlias = Sequence[Sequence[str]]

APPLICATION_ID: Final = 0x464D454D  # "FMEM" in the file's header identifies a memory file

# Step n takes a file from schema version n to n + 1. Steps are appended, never edited.
MIGRATIONS: Final[Migrations] = (
    (
        f"pragma application_id = {APPLICATION_ID}",
        "create table docs(collection text, id text, body text not null, revision integer not null,"
        " primary key(collection, id))",
        # The top-level scalars once more: equalities, order and sums without opening a body
        "create table fields(collection text, id text, name text, value, primary key(collection, id, name))"
        " without rowid",
        "create index by_value on fields(collection, name, value)",
        "create table clock(now integer not null)",
        "insert into clock values(0)",
    ),
)

_MAX_INDEXED_CHARS = 200  # characters; Source: `Query.where`


def prepare(db: sqlite3.Connection, steps: Migrations = MIGRATIONS) -> None:
    """Bring the file to the newest schema; any number of processes may do so at once.

    Raises StoreRejectedError for a file of another program or of a newer fleet-memory.
    """
    if not _is_ours(db):
        raise StoreRejectedError(FOREIGN)
    db.execute("pragma journal_mode = wal")
    while check_version(db, steps) < len(steps):
        _take_step(db, steps)


def check_version(db: sqlite3.Connection, steps: Migrations = MIGRATIONS) -> int:
    """Return the file's schema version, or raise StoreRejectedError when a newer fleet-memory has moved it on."""
    version: int = db.execute("pragma user_version").fetchone()[0]
    if version > len(steps):
        raise StoreRejectedError(NEWER_FILE, operator_detail=f"schema {version}, known up to {len(steps)}")
    return version


def _is_ours(db: sqlite3.Connection) -> bool:
    db.execute("begin")  # both reads of one moment: another process may be creating the file
    (application,) = db.execute("pragma application_id").fetchone()
    is_empty = db.execute("select 1 from sqlite_master").fetchone() is None
    db.execute("commit")
    return bool(application == APPLICATION_ID or (is_empty and not application))


def _take_step(db: sqlite3.Connection, steps: Migrations) -> None:
    db.execute("begin immediate")
    version = check_version(db, steps)  # again, now that no other process can move it
    if version < len(steps):
        for statement in steps[version]:
            db.execute(statement)
        db.execute(f"pragma user_version = {version + 1}")
    db.execute("commit")


def read(db: sqlite3.Connection, ref: Ref) -> Document | None:
    """Return the document, or None where absent."""
    row = db.execute("select body, revision from docs where collection = ? and id = ?", ref).fetchone()
    return _document(ref, *row) if row else None


def find(db: sqlite3.Connection, query: Query) -> list[Document]:
    """See `Store.find`."""
    if query.order and query.after is not None:
        raise StoreRejectedError(ORDER_AFTER, operator_detail=str(query))
    equalities, values = _equalities(query)
    parts, order = ["select d.id, d.body, d.revision from docs d"], "d.id"
    if query.order:
        direction = "desc" if query.order.startswith("-") else "asc"
        parts.append("join fields o on o.collection = d.collection and o.id = d.id and o.name = ?")
        values = [query.order.removeprefix("-"), *values]
        order = f"o.value {direction}, d.id {direction}"
    parts += ["where d.collection = ?", equalities]
    if query.after is not None:
        parts.append("and d.id > ?")
        values.append(query.after)
    parts += ["order by", order, "limit ?"]
    limit = -1 if query.limit is None else query.limit
    rows = db.execute(" ".join(parts), (*values, limit))
    return [_document(Ref(query.collection, name), body, revision) for name, body, revision in rows]


def total(db: sqlite3.Connection, query: Query, field: str | None) -> int:
    """See `Store.total`."""
    equalities, values = _equalities(query)
    if field is None:
        parts = ["select count(*) from docs d where d.collection = ?", equalities]
    else:
        parts = ["select coalesce(sum(d.value), 0) from fields d where d.collection = ?", equalities]
        parts.append("and d.name = ? and typeof(d.value) in ('integer', 'real')")
        values.append(field)
    if query.order:
        parts.append("and d.id in (select id from fields where collection = ? and name = ?)")
        values += [query.collection, query.order.removeprefix("-")]
    return int(db.execute(" ".join(parts), values).fetchone()[0])


def _equalities(query: Query) -> tuple[str, list[Indexed]]:
    one = "and d.id in (select id from fields where collection = ? and name = ? and value = ?)"
    values = [each for name, value in query.where.items() for each in (query.collection, name, _indexed(value))]
    return " ".join([one] * len(query.where)), [query.collection, *values]


def apply(db: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """See `Store.commit`."""
    db.execute("update clock set now = now + 1")
    (now,) = db.execute("select now from clock").fetchone()
    for write in writes:
        old = read(db, write.ref)
        if write.expect is not None and write.expect != (old.revision if old else ABSENT):
            raise ConflictError(CONFLICT, operator_detail="/".join(write.ref))
        db.execute("delete from docs where collection = ? and id = ?", write.ref)
        db.execute("delete from fields where collection = ? and id = ?", write.ref)
        if write.fields is not None:
            _put(db, write.ref, _merged(old.fields if old else {}, write.fields), now)


def _put(db: sqlite3.Connection, ref: Ref, fields: Mapping[str, Json], revision: int) -> None:
    try:
        if _size(fields) > MAX_DOCUMENT_BYTES:
            raise DocumentRejectedError(DOCUMENT_TOO_LARGE, operator_detail="/".join(ref))
        body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        db.execute("insert into docs values(?, ?, ?, ?)", (*ref, body, revision))
        db.executemany("insert into fields values(?, ?, ?, ?)", _scalars(ref, fields))
    except (ValueError, OverflowError) as unfit:
        raise DocumentRejectedError(UNFIT, operator_detail=f"{'/'.join(ref)}: {unfit}") from unfit


def _size(value: Json | Mapping[str, Json]) -> int:
    """Return the bytes of a value as Firestore counts them."""
    if isinstance(value, str):
        return len(value.encode()) + 1
    if isinstance(value, Mapping):
        return sum(_size(name) + _size(each) for name, each in value.items())
    if isinstance(value, list):
        return sum(map(_size, value))
    return 8


def _merged(old: Mapping[str, Json], changes: Mapping[str, Json]) -> dict[str, Json]:
    new = dict(old)
    for name, value in changes.items():
        top, _, key = name.partition(".")
        entries = new.get(top)
        if not key:
            new[top] = value
        elif isinstance(entries, dict):
            new[top] = _without_none({**entries, key: value})
        else:
            new[top] = _without_none({key: value}) or entries
    return _without_none(new)


def _without_none(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _scalars(ref: Ref, fields: Mapping[str, Json]) -> Iterator[tuple[str, str, str, Indexed]]:
    for name, value in fields.items():
        if isinstance(value, str | int | float):
            yield *ref, name, _indexed(value)


def _indexed(value: Scalar) -> Indexed:
    if isinstance(value, bool):
        return bytes([value])  # SQLite has no bool: as a number it would equal 1, and be summed
    return (
        value[: _MAX_INDEXED_CHARS + 1] if isinstance(value, str) else value
    )  # one more: a cut text equals no searched one


def _document(ref: Ref, body: str, revision: int) -> Document:
    try:
        return Document(ref, json.loads(body), str(revision))
    except ValueError as broken:
        raise DocumentRejectedError(CORRUPT, operator_detail=f"{'/'.join(ref)}: {broken}") from broken


def health(db: sqlite3.Connection) -> StoreHealth:
    """Return the file's condition; reads all of it."""
    is_intact = db.execute("pragma integrity_check(1)").fetchall() == [("ok",)]
    documents: Counter[str] = Counter()
    for collection, name, body, revision in db.execute("select collection, id, body, revision from docs"):
        _document(Ref(collection, name), body, revision)
        documents[collection.rsplit("/", 1)[-1]] += 1
    return StoreHealth(check_version(db), is_intact, dict(documents))
