"""Rows of another program's SQLite file, which is opened for reading only and never written."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from fleet_memory.errors import InvalidArgumentError

Row: TypeAlias = Mapping[str, object]


def read_rows(file: Path, table: str, needed: Sequence[str], source: str) -> list[Row]:
    """Return all rows of a table by id. Raises InvalidArgumentError for a file that is no memory of `source`.

    A write-ahead log that another process has left there is read too. Without one the file is opened as immutable:
    that makes no file next to it, and needs no right to write there.
    """
    if not file.is_file():
        raise InvalidArgumentError(f"FILE: {file.name} is not there, or is no file")
    try:
        log = file.with_name(f"{file.name}-wal")
        return _rows(file, "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1", table, needed)
    except (sqlite3.Error, OSError) as error:
        raise InvalidArgumentError(f"FILE: {file.name} cannot be read as a memory of {source}: {error}") from error


def _rows(file: Path, mode: str, table: str, needed: Sequence[str]) -> list[Row]:
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?{mode}", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
        columns = {str(row["name"]) for row in connection.execute(f"PRAGMA table_info({table})")}
        if missing := sorted({"id", *needed} - columns):
            raise sqlite3.DatabaseError(f"no {table} with {', '.join(missing)}")
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")]  # noqa: S608 our own names
