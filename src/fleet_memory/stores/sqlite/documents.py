"""Documents as rows of a memory file; each function runs in its caller's transaction.

A document is one row. A field of `OWN_ROWS` lies in rows of its own, a map of them in one row per
item, so that a commit writes about what it changes; all other fields are the JSON body. A revision
is a random number, so that none repeats, not even for a document created again, and no counter is
written.
"""

# ruff: noqa: S608 - statements are made of constants

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from fleet_memory.errors import ConflictError, DocumentRejectedError, StoreRejectedError
from fleet_memory.stores import (
    ABSENT,
    CONFLICT,
    DOCUMENT_TOO_LARGE,
    MAX_DOCUMENT_BYTES,
    ORDER_AFTER,
    SHAPE,
    UNFIT,
    Document,
    Json,
    Query,
    Ref,
    Scalar,
    StoreHealth,
    Write,
    document_bytes,
)
from fleet_memory.stores.sqlite.failures import CORRUPT

Indexed: TypeAlias = Scalar | bytes
_Row: TypeAlias = tuple[int, int, int, str]
"""Number and revision of a document, how many rows its items take, and its body."""
Item: TypeAlias = tuple[str, str]
"""Field and key of a row of `items`: an item of a map, or ("", field) for a field that is none."""

OWN_ROWS: Final = frozenset(
    {
        "patterns",
        "notes",
        "waiting",
        "contextSummary",
        "config",
        "baselines",
        "shown",
        "asked",
        "text",
    }
)
"""Fields that are long or many, and seldom change with the others of their document."""
TABLES: Final = (
    "create table docs(number integer primary key, collection text not null, id text not null,"
    " revision integer not null, item_count integer not null, body text not null)",
    "create unique index by_id on docs(collection, id)",
    # by rowid, so that new items lie together on the last page
    "create table items(number integer primary key, document integer not null,"
    " field text not null, key text not null, value not null)",
    "create index by_document on items(document)",
    # The top-level scalars once more, for equalities, order and sums without opening a body.
    # Their collection and name are one number, so that the index stays small
    "create table field_names(number integer primary key, collection text not null,"
    " name text not null)",
    "create unique index field_by_name on field_names(collection, name)",
    "create table scalars(field integer, value, id text, primary key(field, value, id))"
    " without rowid",
)
_MAX_INDEXED_CHARS: Final = 200  # characters; Source: `Query.where`
_FIELD: Final = "(select number from field_names where collection = ? and name = ?)"

# `d` is the table whose ids the conditions are about
_ALL: Final = "select d.collection, d.id, number, revision, item_count, body from docs d"
# cross join: the index is read in its order, whatever SQLite believes of the tables' sizes
_IN_ORDER: Final = (
    "select collection, d.id, number, revision, item_count, body from scalars d cross join docs"
    f" on docs.collection = ? and docs.id = d.id where d.field = {_FIELD}"
)
_SUM: Final = (
    "select coalesce(sum(d.value), 0) from scalars d where typeof(d.value) in ('integer', 'real')"
    f" and d.field = {_FIELD}"
)
_HAS: Final = f"and d.id in (select id from scalars where field = {_FIELD})"
_IS_EQUAL: Final = f"and d.id in (select id from scalars where field = {_FIELD} and value = ?)"


class StoredDocument(NamedTuple):
    """A document as it lies in the file: the number of its row, and those of its items."""

    document: Document
    number: int
    items: Mapping[Item, int]


def read(db: sqlite3.Connection, ref: Ref) -> Document | None:
    """Return the document, or None where absent. Raises DocumentRejectedError for a damaged one."""
    stored = _stored(db, ref)
    return stored.document if stored else None


def find(db: sqlite3.Connection, query: Query) -> list[Document]:
    """See `Store.find`."""
    if query.order and query.after is not None:
        raise StoreRejectedError(ORDER_AFTER, operator_detail=str(query))
    values: list[Indexed] = [query.collection]
    if query.order:
        values += [query.collection, query.order.removeprefix("-")]
        direction = "desc" if query.order.startswith("-") else "asc"
        order = f"order by d.value {direction}, d.id {direction}"
        parts = [_IN_ORDER, _equalities(query, values), order]
    else:
        parts = [_ALL, "where d.collection = ?", _equalities(query, values)]
        if query.after is not None:
            parts.append("and d.id > ?")
            values.append(query.after)
        parts.append("order by d.id")
    limit = -1 if query.limit is None else query.limit
    return list(_documents(db, db.execute(" ".join([*parts, "limit ?"]), (*values, limit))))


def total(db: sqlite3.Connection, query: Query, field: str | None) -> int:
    """See `Store.total`."""
    values: list[Indexed] = [query.collection]
    if field is None:
        parts = ["select count(*) from docs d where d.collection = ?"]
    else:
        parts = [_SUM]
        values.append(field)
    parts.append(_equalities(query, values))
    if query.order:
        parts.append(_HAS)
        values += [query.collection, query.order.removeprefix("-")]
    return int(db.execute(" ".join(parts), values).fetchone()[0])


def health(db: sqlite3.Connection) -> StoreHealth:
    """Return the file's condition; reads all of it."""
    is_intact = db.execute("pragma integrity_check(1)").fetchall() == [("ok",)]
    documents = _documents(db, db.execute(_ALL))
    groups = (document.ref.collection.rsplit("/", 1)[-1] for document in documents)
    return StoreHealth(SHAPE, is_intact, dict(Counter(groups)))


def apply(db: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """See `Store.commit`."""
    for write in writes:
        stored = _stored(db, write.ref)
        revision = stored.document.revision if stored else ABSENT
        if write.expect is not None and write.expect != revision:
            raise ConflictError(CONFLICT, operator_detail="/".join(write.ref))
        before = stored.document.fields if stored else {}
        if write.fields is None:
            _index(db, write.ref, before, {})
            if stored:
                db.execute("delete from docs where number = ?", (stored.number,))
                db.execute("delete from items where document = ?", (stored.number,))
            continue
        try:
            after = _changed(before, write.fields)
            if document_bytes(after) > MAX_DOCUMENT_BYTES:
                raise DocumentRejectedError(DOCUMENT_TOO_LARGE, operator_detail="/".join(write.ref))
            _put(db, write.ref, stored, after)
            _index(db, write.ref, before, after)
        except (ValueError, OverflowError) as unfit:
            detail = f"{'/'.join(write.ref)}: {unfit}"
            raise DocumentRejectedError(UNFIT, operator_detail=detail) from unfit


def _stored(db: sqlite3.Connection, ref: Ref) -> StoredDocument | None:
    rows = db.execute(
        "select number, revision, item_count, body from docs where collection = ? and id = ?", ref
    )
    row: _Row | None = rows.fetchone()
    return _decoded(db, ref, row) if row else None


def _documents(
    db: sqlite3.Connection, rows: Iterable[tuple[str, str, int, int, int, str]]
) -> Iterator[Document]:
    for collection, id_, number, revision, count, body in rows:
        yield _decoded(db, Ref(collection, id_), (number, revision, count, body)).document


def _decoded(db: sqlite3.Connection, ref: Ref, row: _Row) -> StoredDocument:
    number, revision, count, body = row
    try:
        fields: dict[str, Json] = {**json.loads(body)}
        items = db.execute(
            "select number, field, key, value from items where document = ?", (number,)
        ).fetchall()
        for _, field, key, value in items:
            owner = cast("dict[str, Json]", fields[field]) if field else fields
            owner[key] = value if isinstance(value, str) else json.loads(value)
        if len(items) != count:
            raise LookupError(f"{count} items are {len(items)}")  # noqa: TRY301 - as other damage
    except (ValueError, LookupError, TypeError) as broken:
        detail = f"{'/'.join(ref)}: {broken}"
        raise DocumentRejectedError(CORRUPT, operator_detail=detail) from broken
    numbers = {(field, key): item for item, field, key, _ in items}
    return StoredDocument(Document(ref, fields, str(revision)), number, numbers)


def _changed(before: Mapping[str, Json], changes: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields after those of a `Write`; unchanged values are the same objects."""
    after = dict(before)
    for name, value in changes.items():
        field, is_item, key = name.partition(".")
        if is_item:
            known = after.get(field)
            items = {**known} if isinstance(known, dict) else {}
            if value is None:
                items.pop(key, None)
            else:
                items[key] = value
            if field in after or items:
                after[field] = items
        elif value is None:
            after.pop(field, None)
        else:
            after[field] = value
    return after


def _put(
    db: sqlite3.Connection, ref: Ref, stored: StoredDocument | None, after: Mapping[str, Json]
) -> None:
    """Write the row of a document and the items that differ. Raises ValueError for unfit values."""
    body: dict[str, Json] = {
        name: value if name not in OWN_ROWS else {}
        for name, value in after.items()
        if name not in OWN_ROWS or isinstance(value, dict)
    }
    old, new = _items(stored.document.fields if stored else {}), _items(after)
    columns = (secrets.randbits(63), len(new), _as_json(body))
    if stored:
        number: int | None = stored.number
        update = "update docs set revision = ?, item_count = ?, body = ? where number = ?"
        db.execute(update, (*columns, number))
    else:
        insert = (
            "insert into docs(revision, item_count, body, collection, id) values(?, ?, ?, ?, ?)"
        )
        number = db.execute(insert, (*columns, *ref)).lastrowid
    for item, value in new.items():
        if item in old and _is_same(old[item], value):
            continue
        encoded = value if isinstance(value, str) else _as_json(value).encode()
        if stored and item in stored.items:
            place = (encoded, stored.items[item])
            db.execute("update items set value = ? where number = ?", place)
        else:
            insert = "insert into items(document, field, key, value) values(?, ?, ?, ?)"
            db.execute(insert, (number, *item, encoded))
    gone = [number for item, number in (stored.items if stored else {}).items() if item not in new]
    db.executemany("delete from items where number = ?", [(number,) for number in gone])


def _items(fields: Mapping[str, Json]) -> dict[Item, Json]:
    items: dict[Item, Json] = {}
    for name in OWN_ROWS & fields.keys():
        value = fields[name]
        if isinstance(value, dict):
            items |= {(name, key): each for key, each in value.items()}
        else:
            items["", name] = value
    return items


def _as_json(value: Json) -> str:
    """Return the JSON of a value. Raises ValueError for NaN, infinity and integers over 64 bits."""
    _require_fit(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _require_fit(value: Json) -> None:
    # SQLite refuses such integers of a column, not those within JSON
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise ValueError("an integer over 64 bits")
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _require_fit(each)


def _is_same(before: Json, after: Json) -> bool:
    return before is after or (isinstance(before, str) and before == after)  # 1 == 1.0 == True


def _index(
    db: sqlite3.Connection, ref: Ref, before: Mapping[str, Json], after: Mapping[str, Json]
) -> None:
    for name in before.keys() | after.keys():
        old, new = _indexed_or_none(before.get(name)), _indexed_or_none(after.get(name))
        if (type(old), old) == (type(new), new):  # 1 == 1.0
            continue
        place = (ref.collection, name)
        if old is not None:
            db.execute(
                f"delete from scalars where field = {_FIELD} and value = ? and id = ?",
                (*place, old, ref.id),
            )
        if new is not None:
            db.execute("insert or ignore into field_names(collection, name) values(?, ?)", place)
            db.execute(f"insert into scalars values({_FIELD}, ?, ?)", (*place, new, ref.id))


def _equalities(query: Query, values: list[Indexed]) -> str:
    """Return the conditions of `query.where`, and add their parameters to `values`."""
    for name, value in query.where.items():
        values += [query.collection, name, _indexed(value)]
    return " ".join([_IS_EQUAL] * len(query.where))


def _indexed(value: Scalar) -> Indexed:
    if isinstance(value, bool):
        return bytes([value])  # SQLite has no bool: as a number it would equal 1, and be summed
    if isinstance(value, str):
        return value[: _MAX_INDEXED_CHARS + 1]  # one more: a cut text equals no searched one
    return value


def _indexed_or_none(value: Json) -> Indexed | None:
    return _indexed(value) if isinstance(value, str | int | float) else None
