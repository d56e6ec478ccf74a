"""Documents as rows of a memory file: read, insert, change, delete; each function runs in its
caller's transaction.

A revision is a random number, so that none repeats, not even for a document created again, and no
counter is written.
"""

import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from fleet_memory.errors import ConflictError, DocumentRejectedError
from fleet_memory.stores import ABSENT, Document, Json, Ref, Scalar, Write
from fleet_memory.stores.limits import MAX_DOCUMENT_BYTES
from fleet_memory.stores.messages import CONFLICT, DOCUMENT_TOO_LARGE, UNFIT
from fleet_memory.stores.sqlite.cache import DocumentCache
from fleet_memory.stores.sqlite.failures import CORRUPT
from fleet_memory.stores.sqlite.layout import (
    DocumentChange,
    DocumentRow,
    PartRow,
    StoredDocument,
    as_json,
    encoded,
    stored_document,
)

Indexed: TypeAlias = Scalar | bytes

_PLACES: Final = (
    1 << 32
)  # of one document: a place is used once, and no document gets as many new entries
_MAX_INDEXED_CHARS: Final = 200  # characters; Source: `Query.where`

_MOVE: Final = (
    "update scalars set value = ?"
    " where field = (select number from field_names where collection = ? and name = ?) and "
    "value = ? and id = ?"
)
_REMOVE: Final = (
    "delete from scalars"
    " where field = (select number from field_names where collection = ? and name = ?) and "
    "value = ? and id = ?"
)


def read(db: sqlite3.Connection, cache: DocumentCache, ref: Ref) -> Document | None:
    """Return the document, or None where absent. Raises DocumentRejectedError for a damaged one."""
    row = _row(db, ref)
    return _read(db, cache, ref, row).document if row else None


def _row(db: sqlite3.Connection, ref: Ref) -> DocumentRow | None:
    row = db.execute(
        "select number, revision, bytes, body from docs where collection = ? and id = ?", ref
    ).fetchone()
    return DocumentRow(*row) if row else None


def _read(
    db: sqlite3.Connection, cache: DocumentCache, ref: Ref, row: DocumentRow
) -> StoredDocument:
    stored = decoded_row(db, cache, ref, row)
    cache.add(stored)
    return stored


def decoded_row(
    db: sqlite3.Connection, cache: DocumentCache, ref: Ref, row: DocumentRow
) -> StoredDocument:
    """Return the document of a row, from the cache if it is there. Raises DocumentRejectedError for
    a damaged one.
    """
    cached = cache.lookup(ref, row.revision)
    if cached:
        return cached
    try:
        return stored_document(ref, row, lambda: _parts(db, row.number))
    except (ValueError, LookupError, TypeError) as broken:
        raise DocumentRejectedError(
            CORRUPT, operator_detail=f"{'/'.join(ref)}: {broken}"
        ) from broken


def _parts(db: sqlite3.Connection, number: int) -> Iterable[PartRow]:
    return db.execute(
        "select place, name, value from parts where place between ? and ? order by place",
        _places_of(number),
    )


def _places_of(number: int) -> tuple[int, int]:
    return number * _PLACES, number * _PLACES + _PLACES - 1


def apply(db: sqlite3.Connection, cache: DocumentCache, writes: Sequence[Write]) -> None:
    """See `Store.commit`."""
    for write in writes:
        row = _row(db, write.ref)
        if write.expect is not None and write.expect != (str(row.revision) if row else ABSENT):
            raise ConflictError(CONFLICT, operator_detail="/".join(write.ref))
        old = _read(db, cache, write.ref, row) if row else None
        if write.fields is not None:
            cache.add(_put(db, write.ref, old, write.fields))
        elif old:
            _delete(db, old)
            cache.discard(write.ref)


def _put(
    db: sqlite3.Connection, ref: Ref, old: StoredDocument | None, fields: Mapping[str, Json]
) -> StoredDocument:
    revision = secrets.randbits(63)
    try:
        change = DocumentChange(old)
        change.apply(fields)
        if change.size > MAX_DOCUMENT_BYTES:
            raise DocumentRejectedError(DOCUMENT_TOO_LARGE, operator_detail="/".join(ref))
        if old:
            columns = (revision, change.size, as_json(change.body), old.number)
            db.execute(
                "update docs set revision = ?, bytes = ?, body = ? where number = ?", columns
            )
            number = old.number
        else:
            number = insert(db, ref, revision, change)
        places = write_parts(db, number, old.places if old else {}, change)
        touched = dict.fromkeys(name.partition(".")[0] for name in fields)
        _index(db, ref, touched, old.document.fields if old else {}, change.fields)
    except (ValueError, OverflowError) as unfit:
        raise DocumentRejectedError(UNFIT, operator_detail=f"{'/'.join(ref)}: {unfit}") from unfit
    return StoredDocument(
        Document(ref, change.fields, str(revision)), number, change.size, change.body, places
    )


def insert(db: sqlite3.Connection, ref: Ref, revision: int, change: DocumentChange) -> int:
    """Insert the row of a new document, and return its number. Raises ValueError for a value that
    no engine stores.
    """
    columns = (*ref, revision, change.size, as_json(change.body))
    cursor = db.execute(
        "insert into docs(collection, id, revision, bytes, body) values(?, ?, ?, ?, ?)", columns
    )
    return cursor.lastrowid or 0  # which an insert has


def write_parts(
    db: sqlite3.Connection, number: int, before: Mapping[str, int], change: DocumentChange
) -> dict[str, int]:
    """Remove, replace and append the parts of a changed document; return the places of all its
    parts.

    Raises ValueError for a value that no engine stores.
    """
    places = dict(before)
    for name in change.removed & places.keys():
        db.execute("delete from parts where place = ?", (places.pop(name),))
    last = next(reversed(places.values()), number * _PLACES)
    for name, value in change.parts.items():
        if name in places:
            db.execute("update parts set value = ? where place = ?", (encoded(value), places[name]))
        else:
            last += 1
            places[name] = last
            db.execute("insert into parts values(?, ?, ?)", (last, name, encoded(value)))
    return places


def _index(
    db: sqlite3.Connection,
    ref: Ref,
    names: Iterable[str],
    before: Mapping[str, Json],
    after: Mapping[str, Json],
) -> None:
    for name in names:
        old, new = _indexed_or_none(before.get(name)), _indexed_or_none(after.get(name))
        if (type(old), old) == (type(new), new):  # 1 == 1.0
            continue
        if new is None:
            _unindex(db, ref, name, old)
        elif old is None:
            db.execute(
                "insert into scalars values(?, ?, ?)",
                (_field(db, ref.collection, name), new, ref.id),
            )
        else:
            db.execute(_MOVE, (new, ref.collection, name, old, ref.id))


def _field(db: sqlite3.Connection, collection: str, name: str) -> int | None:
    """Return the number of a field of a collection, a new one if it has none."""
    row = db.execute(
        "select number from field_names where collection = ? and name = ?", (collection, name)
    ).fetchone()
    if row:
        return int(row[0])
    return db.execute(
        "insert into field_names(collection, name) values(?, ?)", (collection, name)
    ).lastrowid


def _unindex(db: sqlite3.Connection, ref: Ref, name: str, value: Indexed | None) -> None:
    if value is not None:
        db.execute(_REMOVE, (ref.collection, name, value, ref.id))


def _delete(db: sqlite3.Connection, old: StoredDocument) -> None:
    db.execute("delete from docs where number = ?", (old.number,))
    db.execute("delete from parts where place between ? and ?", _places_of(old.number))
    for name, value in old.document.fields.items():
        _unindex(db, old.document.ref, name, _indexed_or_none(value))


def indexed(value: Scalar) -> Indexed:
    """Return a scalar as the index has it."""
    if isinstance(value, bool):
        return bytes([value])  # SQLite has no bool: as a number it would equal 1, and be summed
    if isinstance(value, str):
        return value[: _MAX_INDEXED_CHARS + 1]  # one more: a cut text equals no searched one
    return value


def _indexed_or_none(value: Json) -> Indexed | None:
    return indexed(value) if isinstance(value, str | int | float) else None
