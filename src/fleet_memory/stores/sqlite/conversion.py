"""The conversion of a file of schema 1, which had each document in one row, to parts."""

import json
import sqlite3

from fleet_memory.stores import Ref
from fleet_memory.stores.sqlite.layout import DocumentChange
from fleet_memory.stores.sqlite.rows import insert, write_parts


def split_documents(db: sqlite3.Connection) -> None:
    """Move the documents of `docs_before`, with their revisions; a damaged one stays as it is.

    One by one, so that the pages of the first take the next: the file stays as large as it was.
    """
    rowids = db.execute("select rowid from docs_before order by collection, id").fetchall()
    for rowid in rowids:
        row = db.execute(  # a blob: a damaged text may be no text
            "select collection, id, revision, cast(body as blob) from docs_before where rowid = ?",
            rowid,
        ).fetchone()
        db.execute("delete from docs_before where rowid = ?", rowid)
        _insert(db, *row)


def _insert(db: sqlite3.Connection, collection: str, id_: str, revision: int, body: bytes) -> None:
    change = DocumentChange()
    try:
        change.apply(json.loads(body))
        number = insert(db, Ref(collection, id_), revision, change)
        write_parts(db, number, {}, change)
    except (ValueError, AttributeError):  # no JSON, or not the JSON of a map
        values = (collection, id_, revision, body)
        db.execute(
            "insert into docs(collection, id, revision, bytes, body) values(?, ?, ?, 0, cast(? "
            "as text))",
            values,
        )
