"""Documents as rows of a memory file; each function runs in its caller's transaction.

A field is a row and an entry of a map is a row, so that a commit writes about what it changes. A
revision is a random number, so that none repeats, not even for a document created again, and no
counter is written.
"""

# ruff: noqa: S608 - statements are made of constants

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
"""The name of a field and the key of an entry of its map, e.g. ("patterns", "k1"); ("dirty", None)
is the field itself, an empty map where it has entries.
"""

# What queries ask for of a field: a number, the start of a text, `true` and `false`. Source of 200:
# `Query.where`; one character more, so that a cut text equals no searched one
_VALUE: Final = (
    "case typeof(value) when 'text' then substr(value, 1, 201)"
    " when 'blob' then substr(value, 1, 5) else value end"
)
TABLES: Final = (
    "create table docs(number integer primary key, collection text not null, id text not null,"
    " revision integer not null)",
    "create unique index by_id on docs(collection, id)",
    # by rowid, so that new rows lie together on the last page
    "create table fields(number integer primary key, document integer not null,"
    " name text not null, key text, value not null)",
    "create index by_document on fields(document)",
    f"create index by_value on fields(name, {_VALUE}, document) where key is null",
)
_DOCUMENTS: Final = "select docs.number, collection, id, revision from docs"
_FIELD: Final = "from fields where key is null and name = ?"
_HAS: Final = f" and docs.number in (select document {_FIELD}"
# of a value that many documents have: each document of the collection in turn is looked up, rather
# than that all of these are sorted
_EACH: Final = f" and exists (select 1 {_FIELD} and document = docs.number"
_MANY: Final = 1_000  # documents; chosen
_ARE_MANY: Final = f"select 1 {_FIELD} and {_VALUE} = ? limit 1 offset {_MANY}"


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
        found += f" order by {_VALUE} {direction}, id {direction} limit ?"
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
            f"select coalesce(sum({_VALUE}), 0) from fields cross join docs{matching}"
            " and docs.number = document and key is null and name = ?"
            f" and typeof({_VALUE}) in ('integer', 'real')"
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
            "select number, revision from docs where collection = ? and id = ?", write.ref
        ).fetchone()
        number, revision = known or (None, ABSENT)
        if write.expect not in (None, str(revision)):
            raise ConflictError(CONFLICT, operator_detail=name)
        if write.fields is None:
            db.execute("delete from docs where number = ?", (number,))
            db.execute("delete from fields where document = ?", (number,))
            continue
        rows = "select name, key, value, number from fields where document = ?"
        before = {each[:2]: each[2:] for each in db.execute(rows, (number,))}
        try:
            after = _changed({place: value for place, (value, _) in before.items()}, write.fields)
            if document_bytes(_fields(write.ref, after)) > MAX_DOCUMENT_BYTES:
                raise DocumentRejectedError(DOCUMENT_TOO_LARGE, operator_detail=name)
            if number is None:
                created = "insert into docs(collection, id, revision) values(?, ?, ?)"
                number = db.execute(created, (*write.ref, secrets.randbits(63))).lastrowid
            else:
                moved = "update docs set revision = ? where number = ?"
                db.execute(moved, (secrets.randbits(63), number))
            _put(db, number, before, after)
        except (ValueError, OverflowError) as unfit:
            raise DocumentRejectedError(UNFIT, operator_detail=f"{name}: {unfit}") from unfit


def _matching(query: Query) -> tuple[str, list[_Column]]:
    """Return the conditions of a query on documents of its collection, and their parameters."""
    if not query.where:
        return " where collection = ?", [query.collection]
    values: list[_Column] = [query.collection]
    for name, value in query.where.items():
        start = value.partition("\0")[0] if isinstance(value, str) else value  # as `substr` ends
        values += [name, _column(start), _column(value)]
    # +: not by the index of the collection, which has more documents than the values have
    equal = f"{_HAS} and {_VALUE} = ? and value = ?)"
    return f" where +collection = ?{equal * len(query.where)}", values


def _documents(db: sqlite3.Connection, found: str, values: Sequence[_Column]) -> Iterator[Document]:
    for number, collection, id_, revision in db.execute(found, values).fetchall():
        # in the order of their numbers: the field of a map comes before its entries
        rows = db.execute("select name, key, value from fields where document = ?", (number,))
        ref = Ref(collection, id_)
        fields = _fields(ref, {(name, key): value for name, key, value in rows})
        yield Document(ref, fields, str(revision))


def _fields(ref: Ref, rows: Mapping[_Place, _Column]) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    try:
        for (name, key), column in rows.items():
            value = json.loads(column) if isinstance(column, bytes) else column
            if key is None:
                fields[name] = value
            else:
                cast("dict[str, Json]", fields[name])[key] = value
    except (ValueError, LookupError, TypeError) as broken:
        detail = f"{'/'.join(ref)}: {broken}"
        raise DocumentRejectedError(CORRUPT, operator_detail=detail) from broken
    return fields


def _changed(rows: dict[_Place, _Column], changes: Mapping[str, Json]) -> dict[_Place, _Column]:
    """Return the rows after the changes of a `Write`. Raises ValueError for unfit values."""
    for path, value in changes.items():
        name, is_entry, key = path.partition(".")
        if is_entry:
            if value is None:
                rows.pop((name, key), None)
            else:
                if rows.get((name, None)) != b"{}":
                    rows[name, None] = b"{}"
                rows[name, key] = _column(value)
            continue
        rows = {place: column for place, column in rows.items() if place[0] != name}
        if isinstance(value, dict):
            rows[name, None] = b"{}"
            rows |= {(name, key): _column(each) for key, each in value.items()}
        elif value is not None:
            rows[name, None] = _column(value)
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
    """Return a value as its row has it. Raises ValueError for NaN, infinity and, within a list or
    an object, integers over 64 bits; SQLite refuses others.
    """
    if isinstance(value, str):
        return value
    _require_fit(value)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return text.encode()


def _require_fit(value: Json) -> None:
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise ValueError("an integer over 64 bits")
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _require_fit(each)
