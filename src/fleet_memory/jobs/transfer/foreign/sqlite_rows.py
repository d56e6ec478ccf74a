"""Rows of another program's SQLite file, which is opened for reading only and never written."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

from fleet_memory.errors import InvalidArgumentError

Row: TypeAlias = Mapping[str, object]

_READS_LOG: Final = (
    b"\x02"  # byte 18 of a file whose changes go to a log first. Source: sqlite.org/fileformat.html
)


def read_rows(file: Path, table: str, needed: Sequence[str], source: str) -> list[Row]:
    """Return all rows of a table by id. Raises InvalidArgumentError for a file that is no memory of
    `source`.

    The write-ahead log of a process that has the file open is read too.
    """
    if not file.is_file():
        raise InvalidArgumentError(f"FILE: {file.name} is not there, or is no file")
    try:
        return _rows(file, table, needed)
    except (sqlite3.Error, OSError) as error:
        raise InvalidArgumentError(
            f"FILE: {file.name} cannot be read as a memory of {source}: {error}"
        ) from error


def count_rows(file: Path, table: str) -> int:
    """Return how many rows a table has, 0 where there is none."""
    try:
        with closing(
            sqlite3.connect(f"{file.resolve().as_uri()}?{_mode(file)}", uri=True)
        ) as connection:
            return int(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608 our own names
    except (sqlite3.Error, OSError):
        return 0


def _rows(file: Path, table: str, needed: Sequence[str]) -> list[Row]:
    with closing(
        sqlite3.connect(f"{file.resolve().as_uri()}?{_mode(file)}", uri=True)
    ) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
        columns = {str(row["name"]) for row in connection.execute(f"PRAGMA table_info({table})")}
        if missing := sorted({"id", *needed} - columns):
            raise sqlite3.DatabaseError(f"no {table} with {', '.join(missing)}")
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")]  # noqa: S608 our own names


def _mode(file: Path) -> str:
    """Return how to open a file: as immutable if its log is closed, because reading would make one
    again.
    """
    with file.open("rb") as stream:
        has_log = stream.read(19)[18:] == _READS_LOG
    return (
        "mode=ro&immutable=1"
        if has_log and not file.with_name(f"{file.name}-wal").exists()
        else "mode=ro"
    )
