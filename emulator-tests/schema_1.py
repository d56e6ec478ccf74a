"""Memory files of schema 1, which had each document in one row: written by the statements that
servers of then used.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from fleet_memory.stores import Json, Ref

SCHEMA: Final = (
    "pragma application_id = 1179469133",
    "create table docs(collection text, id text, body text not null, revision integer not null,"
    " primary key(collection, id))",
    "create table fields(collection text, id text, name text, value, primary key(collection, "
    "id, name)) without rowid",
    "create index by_value on fields(collection, name, value)",
    "create table clock(now integer not null)",
    "insert into clock values(0)",
    "pragma user_version = 1",
)


def write_schema_1(path: Path, documents: Mapping[Ref, Mapping[str, Json]]) -> None:
    """Write a new file; the revisions of the documents are 1, 2, 3, ..."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("begin immediate")
        for statement in SCHEMA:
            db.execute(statement)
        for ref, fields in documents.items():
            db.execute("update clock set now = now + 1")
            body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            db.execute("insert into docs select ?, ?, ?, now from clock", (*ref, body))
            for name, value in fields.items():
                if isinstance(value, str | int | float):
                    cut = (
                        bytes([value])
                        if isinstance(value, bool)
                        else value[:201]
                        if isinstance(value, str)
                        else value
                    )
                    db.execute("insert into fields values(?, ?, ?, ?)", (*ref, name, cut))
        db.execute("commit")


def read_schema_1(path: Path) -> tuple[int, dict[Ref, dict[str, Json]]]:
    """Return the version of a file's schema, and its documents if that is 1."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        (version,) = db.execute("pragma user_version").fetchone()
        rows = db.execute("select collection, id, body from docs") if version == 1 else ()
        return version, {Ref(collection, id_): json.loads(body) for collection, id_, body in rows}
