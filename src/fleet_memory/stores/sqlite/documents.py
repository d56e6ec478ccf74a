"""Documents as rows of a memory file; each function runs in its caller's transaction.

A document is a row, and each entry of a map is one beside it, so that a commit writes about what it
changes; fields that queries may ask for have rows in an index. A revision is a random number, so
that none repeats, not even for a document created again, and no counter is written.
"""

# ruff: noqa: S608 - statements are made of constants

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from fleet_memory.errors import ConflictError, DocumentRejectedError
from fleet_memory.stores import (
    ABSENT,
    CONFLICT,
    DOCUMENT_TOO_LARGE,
    MAX_DOCUMENT_BYTES,
    SHAPE,
    UNFIT,
    Document,
    Json,
    Query,
    Ref,
    StoreHealth,
    Write,
    document_bytes,
)
from fleet_memory.stores.sqlite.failures import CORRUPT

_Column: TypeAlias = str | int | float | bytes
"""A value in its row: a text or a number as it is, any other as JSON."""
_Place: TypeAlias = tuple[str, str | None]
"""The name of a map and the key of its entry, e.g. ("patterns", "k1"), or of another field, which
queries ask for, e.g. ("dirty", None).
"""
_Row: TypeAlias = tuple[*_Place, _Column]

# of a text, in the rows for queries: one more than `Query.where` has, so that a cut text equals no
# searched one
_ASKED_CHARS: Final = 201
TABLES: Final = (
    # `body` is the document as JSON, without the entries of its maps
    "create table docs(number integer primary key, collection text not null, id text not null,"
    " revision integer not null, body blob not null)",
    "create unique index by_id on docs(collection, id)",
    # by rowid, so that new rows lie together on the last page
    "create table fields(number integer primary key, document integer not null,"
    " name text not null, key text, value not null)",
    "create index by_document on fields(document, key)",
    "create index by_value on fields(name, value, document) where key is null",
)
_DOCUMENTS: Final = "select docs.number, collection, id, revision, body from docs"
_FIELD: Final = "from fields where key is null and name = ?"
_HAS: Final = f" and docs.number in (select document {_FIELD}"
# of a value that many documents have: each document of the collection in turn is looked up, rather
# than that all of these are sorted
_EACH: Final = f" and exists (select 1 {_FIELD} and document = docs.number"
_ARE_MANY: Final = f"select 1 {_FIELD} and value = ? limit 1 offset 1000"  # chosen


def read(db: sqlite3.Connection, ref: Ref) -> Document | None:
    """Return the document, or None where absent. Raises DocumentRejectedError for a damaged one."""
    return next(_documents(db, f"{_DOCUMENTS} where collection = ? and id = ?", ref), None)


def find(db: sqlite3.Connection, query: Query) -> list[Document]:
    """See `Store.find`."""
    matching, values = _matching(query)
    if query.order:
        # cross join: the index is read in its order, whatever SQLite believes of the tables' sizes
        found = _DOCUMENTS.replace("from docs", "from fields cross join docs") + matching
        direction = "desc" if query.order.startswith("-") else "asc"
        found += " and docs.number = document and key is null and name = ?"
        found += f" order by value {direction}, id {direction} limit ?"
        values.append(query.order.removeprefix("-"))
    else:
        if query.where and query.limit and db.execute(_ARE_MANY, values[1:3]).fetchone():
            matching = matching.replace("+", "").replace(_HAS, _EACH)
        found = f"{_DOCUMENTS}{matching} and id > ? order by id limit ?"
        values.append(query.after or "")
    return list(_documents(db, found, [*values, -1 if query.limit is None else query.limit]))


def total(db: sqlite3.Connection, query: Query, field: str | None) -> int:
    """See `Store.total`."""
    matching, values = _matching(query)
    if query.order:
        matching += f"{_HAS})"
        values.append(query.order.removeprefix("-"))
    if field is None:
        asked = f"select count(*) from docs{matching}"
    else:
        asked = (
            f"select coalesce(sum(value), 0) from fields cross join docs{matching}"
            " and docs.number = document and key is null and name = ?"
            " and typeof(value) in ('integer', 'real')"
        )
        values.append(field)
    return int(db.execute(asked, values).fetchone()[0])


def health(db: sqlite3.Connection) -> StoreHealth:
    """Return the file's condition; reads all of it."""
    is_intact = db.execute("pragma integrity_check(1)").fetchall() == [("ok",)]
    collections = (document.ref.collection for document in _documents(db, _DOCUMENTS, ()))
    groups = Counter(collection.rsplit("/", 1)[-1] for collection in collections)
    return StoreHealth(SHAPE, is_intact, dict(groups))


def apply(db: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """See `Store.commit`."""
    for write in writes:
        name = "/".join(write.ref)
        known = db.execute(
            "select number, revision, body from docs where collection = ? and id = ?", write.ref
        ).fetchone()
        number, revision, body = known or (None, ABSENT, b"{}")
        if write.expect not in (None, str(revision)):
            raise ConflictError(CONFLICT, operator_detail=name)
        if write.fields is None:
            db.execute("delete from docs where number = ?", (number,))
            db.execute("delete from fields where document = ?", (number,))
            continue
        rows = "select name, key, value, number from fields where document = ?"
        before = {each[:2]: each[2:] for each in db.execute(rows, (number,))}
        try:
            flat = _fields(write.ref, body, ())
            after = _changed(flat, {at: old[0] for at, old in before.items()}, write.fields)
            columns = secrets.randbits(63), _json(flat)
            entries = ((*at, value) for at, value in after.items())
            if document_bytes(_fields(write.ref, columns[1], entries)) > MAX_DOCUMENT_BYTES:
                raise DocumentRejectedError(DOCUMENT_TOO_LARGE, operator_detail=name)
            if number is None:
                created = "insert into docs(collection, id, revision, body) values(?, ?, ?, ?)"
                number = db.execute(created, (*write.ref, *columns)).lastrowid
            else:
                moved = "update docs set revision = ?, body = ? where number = ?"
                db.execute(moved, (*columns, number))
            _put(db, number, before, after)
        except (ValueError, OverflowError) as unfit:
            raise DocumentRejectedError(UNFIT, operator_detail=f"{name}: {unfit}") from unfit


def _matching(query: Query) -> tuple[str, list[_Column]]:
    """Return the conditions of a query on documents of its collection, and their parameters."""
    if not query.where:
        return " where collection = ?", [query.collection]
    values: list[_Column] = [query.collection]
    for name, value in query.where.items():
        values += [name, _column(value)]
    # +: not by the index of the collection, which has more documents than the values have
    equal = f"{_HAS} and value = ?)"
    return f" where +collection = ?{equal * len(query.where)}", values


def _documents(db: sqlite3.Connection, found: str, values: Sequence[_Column]) -> Iterator[Document]:
    entries = "select name, key, value from fields where document = ? and key is not null"
    for number, collection, id_, revision, body in db.execute(found, values).fetchall():
        ref = Ref(collection, id_)
        yield Document(ref, _fields(ref, body, db.execute(entries, (number,))), str(revision))


def _fields(ref: Ref, body: bytes, rows: Iterable[_Row]) -> dict[str, Json]:
    try:
        fields: dict[str, Json] = json.loads(body)
        for name, key, column in rows:
            if key is not None:
                value = json.loads(column) if isinstance(column, bytes) else column
                cast("dict[str, Json]", fields[name])[key] = value
    except (ValueError, LookupError, TypeError) as broken:
        detail = f"{'/'.join(ref)}: {broken}"
        raise DocumentRejectedError(CORRUPT, operator_detail=detail) from broken
    return fields


def _changed(
    flat: dict[str, Json], rows: dict[_Place, _Column], changes: Mapping[str, Json]
) -> dict[_Place, _Column]:
    """Change the fields of a document's own row, and return the rows beside it. Raises ValueError
    for unfit values.
    """
    for path, value in changes.items():
        name, is_entry, key = path.partition(".")
        if is_entry and value is None:
            rows.pop((name, key), None)
            continue
        if not (is_entry and isinstance(flat.get(name), dict)):
            rows = {place: column for place, column in rows.items() if place[0] != name}
            flat.pop(name, None)
        if is_entry or isinstance(value, dict):
            flat[name] = {}
            entries = value if isinstance(value, dict) and not is_entry else {key: value}
            rows |= {(name, each): _column(entry) for each, entry in entries.items()}
        elif value is not None:
            flat[name] = value
            if not isinstance(value, list):
                rows[name, None] = _column(
                    value[:_ASKED_CHARS] if isinstance(value, str) else value
                )
    return rows


def _put(
    db: sqlite3.Connection,
    document: int | None,
    before: Mapping[_Place, tuple[_Column, int]],
    after: Mapping[_Place, _Column],
) -> None:
    """Write the rows that differ."""
    for place, column in after.items():
        old, number = before.get(place, (None, None))
        if number is None:
            insert = "insert into fields(document, name, key, value) values(?, ?, ?, ?)"
            db.execute(insert, (document, *place, column))
        elif (type(old), old) != (type(column), column):  # 1 == 1.0
            db.execute("update fields set value = ? where number = ?", (column, number))
    gone = [(number,) for place, (_, number) in before.items() if place not in after]
    db.executemany("delete from fields where number = ?", gone)


def _column(value: Json) -> _Column:
    text = _json(value)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return text


def _json(value: Json) -> bytes:
    """Return a value as JSON. Raises ValueError for NaN, infinity and integers over 64 bits."""
    _require_fit(value)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def _require_fit(value: Json) -> None:
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise ValueError("an integer over 64 bits")
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _require_fit(each)
