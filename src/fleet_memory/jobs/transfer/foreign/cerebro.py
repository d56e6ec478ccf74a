"""The long-term memory of agent-cerebro: table `entries` of `memory.sqlite3`, each entry of one
role and category.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fleet_memory.jobs.transfer.foreign.sqlite_rows import Row, read_rows
from fleet_memory.schemas.foreign import ForeignMemory, ForeignText, LeftOut

DATABASE: Final = "memory.sqlite3"  # in cerebro's home


def read_cerebro(place: Path) -> ForeignMemory:
    """Return the entries that were not invalidated, of the file or of a home with it; a role is the
    lesson's owner.

    Raises InvalidArgumentError for another file.
    """
    file = place / DATABASE if place.is_dir() else place
    rows = read_rows(
        file, "entries", ("role", "category", "text", "tags", "created_at"), "agent-cerebro"
    )
    texts, left_out = list[ForeignText](), list[LeftOut]()
    for row in rows:
        if row.get("invalidated_at"):
            left_out.append(LeftOut("gone there", _place(row), "invalidated"))
        elif not all(isinstance(row[name], str) for name in ("role", "category", "text")):
            left_out.append(LeftOut("damaged", _place(row), "not a text"))
        else:
            texts.append(_entry_text(row))
    return ForeignMemory("cerebro", texts, left_out)


def _place(row: Row) -> str:
    return f"entry {row['id']}"


def _entry_text(row: Row) -> ForeignText:
    role, category = str(row["role"]), str(row["category"])
    created = _day(row["created_at"])
    return ForeignText(
        _place(row),
        str(row["text"]),
        context=f"{category} of {role}",
        topics=(category,),
        tags=_tags_of(row["tags"]),
        owner=role,
        created=created,
        changed=created,
    )


def _tags_of(stored: object) -> Sequence[str]:
    try:
        value = json.loads(str(stored or "[]"))
    except ValueError:
        return ()
    return [str(tag) for tag in value] if isinstance(value, list) else ()


def _day(stored: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(stored))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
