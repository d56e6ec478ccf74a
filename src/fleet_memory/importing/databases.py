"""Memories in SQLite files, opened for reading only: mcp-memory-service and agent-cerebro."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.importing.texts import ForeignPart, ForeignText, LeftOut

Row: TypeAlias = Mapping[str, object]

CEREBRO_DATABASE: Final = "memory.sqlite3"  # in cerebro's home
_LOGS_CHANGES: Final = b"\x02"  # byte 18 of a file in WAL mode. Source: sqlite.org/fileformat.html
_NO_TOPIC: Final = frozenset(  # tags of mcp-memory-service, or their prefixes
    {"untagged", "sys", "q", "t", "source", "agent", "crew", "proj", "user"}
)


def read_memory_service(file: Path) -> Iterator[ForeignPart]:
    """Yield the memories; those deleted or replaced are left out, links between them not read.

    Raises InvalidArgumentError for another file.
    """
    needed = ("id", "content", "tags", "created_at")
    for row in _rows(file, "memories", needed, "mcp-memory-service"):
        place = f"memory {str(row.get('content_hash') or row['id'])[:8]}"
        if row.get("deleted_at") is not None:
            yield LeftOut("gone there", place, "deleted")
        elif row.get("superseded_by"):
            yield LeftOut("gone there", place, "replaced by a newer one")
        elif not isinstance(row["content"], str):
            yield LeftOut("damaged", place, "not a text")
        else:
            yield _memory(place, row, row["content"])


def _memory(place: str, row: Row, content: str) -> ForeignText:
    stored = str(row.get("tags") or "").strip()  # between commas; a JSON list in older files
    values = _json(stored) if stored.startswith("[") else stored.split(",")
    texts = [str(tag).strip() for tag in values] if isinstance(values, list) else []
    tags = [tag for tag in texts if tag]
    kind = str(row.get("memory_type") or "memory")
    named = {prefix: value for prefix, _, value in (tag.partition(":") for tag in tags) if value}
    topics = [tag.removeprefix("topic:") for tag in tags if tag.partition(":")[0] not in _NO_TOPIC]
    return ForeignText(
        place,
        content,
        context=f"a {kind}",
        topics=(*topics, kind),
        tags=(*(tag for tag in tags if tag != "untagged"), kind),
        project=named.get("proj", ""),
        created=_instant(row["created_at"]),
        changed=_instant(row.get("updated_at")),
    )


def read_cerebro(place: Path) -> Iterator[ForeignPart]:
    """Yield the valid entries of the file, or of a folder with it.

    Raises InvalidArgumentError for another file.
    """
    file = place / CEREBRO_DATABASE if place.is_dir() else place
    needed = ("id", "role", "category", "text", "tags", "created_at")
    for row in _rows(file, "entries", needed, "agent-cerebro"):
        entry = f"entry {row['id']}"
        match row:
            case {"invalidated_at": object() as at} if at:
                yield LeftOut("gone there", entry, "invalidated")
            case {"role": str(role), "category": str(category), "text": str(text)}:
                tags, created = _json(row["tags"]), _instant(row["created_at"])
                yield ForeignText(
                    entry,
                    text,
                    context=f"{category} of {role}",
                    topics=(category,),
                    tags=[str(tag) for tag in tags] if isinstance(tags, list) else (),
                    created=created,
                    changed=created,
                )
            case _:
                yield LeftOut("damaged", entry, "not a text")


def _rows(file: Path, table: str, needed: Sequence[str], source: str) -> list[Row]:
    """Return all rows of a table in order, also those in the log of another process.

    Raises InvalidArgumentError for a file that is no memory of `source`.
    """
    if not file.is_file():
        raise InvalidArgumentError(f"FILE: {file.name} is not there, or is no file")
    try:
        with file.open("rb") as stream:
            has_log = stream.read(19)[18:] == _LOGS_CHANGES
        # Reading a file whose log is closed would make one again, unless it is immutable.
        is_closed = has_log and not file.with_name(f"{file.name}-wal").exists()
        address = f"{file.resolve().as_uri()}?mode=ro{'&immutable=1' if is_closed else ''}"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
            info = connection.execute(f"PRAGMA table_info({table})")
            if missing := sorted({*needed} - {str(row["name"]) for row in info}):
                raise sqlite3.DatabaseError(f"no {table} with {', '.join(missing)}")
            rows = connection.execute(f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608 our own names
            return [dict(row) for row in rows]
    except (sqlite3.Error, OSError) as error:
        raise InvalidArgumentError(
            f"FILE: {file.name} cannot be read as a memory of {source}: {error}"
        ) from error


def _json(stored: object) -> object:
    try:
        return json.loads(str(stored or "null"))
    except (ValueError, RecursionError):
        return None


def _instant(stored: object) -> datetime | None:
    """Return the time of seconds since 1970, or of an ISO text, which is UTC without a zone."""
    try:
        if isinstance(stored, int | float):
            return datetime.fromtimestamp(stored, UTC)
        at = datetime.fromisoformat(str(stored))
    except (ValueError, OverflowError, OSError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
