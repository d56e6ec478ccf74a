"""Queries over the documents of a memory file; each function runs in its caller's transaction."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from fleet_memory.errors import StoreRejectedError
from fleet_memory.stores import Document, Query, Ref, StoreHealth
from fleet_memory.stores.messages import ORDER_AFTER
from fleet_memory.stores.sqlite.cache import DocumentCache
from fleet_memory.stores.sqlite.layout import DocumentRow
from fleet_memory.stores.sqlite.rows import Indexed, decoded_row, indexed
from fleet_memory.stores.sqlite.schema import check_version

# `d` is the table whose ids the conditions are about
_ALL: Final = "select d.collection, d.id, number, revision, bytes, body from docs d"
# cross join: the index is read in its order, whatever SQLite believes of the tables' sizes
_IN_ORDER: Final = (
    "select collection, d.id, number, revision, bytes, body from scalars d cross join docs"
    " on docs.collection = ? and docs.id = d.id"
    " where d.field = (select number from field_names where collection = ? and name = ?)"
)
_SUM: Final = (
    "select coalesce(sum(d.value), 0) from scalars d where typeof(d.value) in ('integer', 'real')"
    " and d.field = (select number from field_names where collection = ? and name = ?)"
)
_HAS: Final = (
    "and d.id in (select id from scalars"
    " where field = (select number from field_names where collection = ? and name = ?))"
)
_IS_EQUAL: Final = (
    "and d.id in (select id from scalars"
    " where field = (select number from field_names where collection = ? and name = ?) and "
    "value = ?)"
)


def find(db: sqlite3.Connection, cache: DocumentCache, query: Query) -> list[Document]:
    """See `Store.find`."""
    if query.order and query.after is not None:
        raise StoreRejectedError(ORDER_AFTER, operator_detail=str(query))
    values: list[Indexed] = [query.collection]
    if query.order:
        values += [query.collection, query.order.removeprefix("-")]
        direction = "desc" if query.order.startswith("-") else "asc"
        parts = [
            _IN_ORDER,
            _equalities(query, values),
            f"order by d.value {direction}, d.id {direction}",
        ]
    elif query.after is None:
        parts = [_ALL, "where d.collection = ?", _equalities(query, values), "order by d.id"]
    else:
        parts = [
            _ALL,
            "where d.collection = ?",
            _equalities(query, values),
            "and d.id > ? order by d.id",
        ]
        values.append(query.after)
    parts.append("limit ?")
    rows = db.execute(" ".join(parts), (*values, -1 if query.limit is None else query.limit))
    return list(_documents(db, cache, rows))


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


def _equalities(query: Query, values: list[Indexed]) -> str:
    """Return the conditions of `query.where`, and add their parameters to `values`."""
    for name, value in query.where.items():
        values += [query.collection, name, indexed(value)]
    return " ".join([_IS_EQUAL] * len(query.where))


def _documents(
    db: sqlite3.Connection,
    cache: DocumentCache,
    rows: Iterable[tuple[str, str, int, int, int, str]],
) -> Iterator[Document]:
    for collection, id_, number, revision, size, body in rows:
        yield decoded_row(
            db, cache, Ref(collection, id_), DocumentRow(number, revision, size, body)
        ).document


def health(db: sqlite3.Connection) -> StoreHealth:
    """Return the file's condition; reads all of it."""
    is_intact = db.execute("pragma integrity_check(1)").fetchall() == [("ok",)]
    rows = db.execute(_ALL)
    groups = (
        document.ref.collection.rsplit("/", 1)[-1]
        for document in _documents(db, DocumentCache(), rows)
    )
    return StoreHealth(check_version(db), is_intact, dict(Counter(groups)))
