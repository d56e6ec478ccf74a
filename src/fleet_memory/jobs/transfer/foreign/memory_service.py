"""The memory of mcp-memory-service: table `memories` of its SQLite file; its vectors need no
extension, nor we them.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fleet_memory.jobs.transfer.foreign.sqlite_rows import Row, count_rows, read_rows
from fleet_memory.schemas.foreign import ForeignMemory, ForeignText, LeftOut

_NO_TOPIC: Final = (
    "untagged",
    "sys",
    "q",
    "t",
    "source",
    "agent",
    "crew",
    "proj",
    "user",
)  # tags, or their prefixes


def read_memory_service(file: Path) -> ForeignMemory:
    """Return the memories that are neither deleted nor replaced. Raises InvalidArgumentError for
    another file.
    """
    rows = read_rows(file, "memories", ("content", "tags", "created_at"), "mcp-memory-service")
    texts, left_out = list[ForeignText](), list[LeftOut]()
    for row in rows:
        place = f"memory {str(row.get('content_hash') or row['id'])[:8]}"
        if row.get("deleted_at") is not None:
            left_out.append(LeftOut("gone there", place, "deleted"))
        elif row.get("superseded_by"):
            left_out.append(LeftOut("gone there", place, "replaced by a newer one"))
        elif not isinstance(row["content"], str):
            left_out.append(LeftOut("damaged", place, "not a text"))
        else:
            texts.append(_text(place, row, row["content"]))
    for table, of in (
        ("memory_graph", "links between memories"),
        ("beliefs", "beliefs derived from memories"),
    ):
        if count := count_rows(file, table):
            left_out.append(LeftOut("relation", table, f"{of}: {count}"))
    return ForeignMemory("mcp-memory-service", texts, left_out)


def _text(place: str, row: Row, content: str) -> ForeignText:
    metadata, tags = _metadata(row.get("metadata")), _tags_of(row.get("tags"))
    kind = str(row.get("memory_type") or "memory")
    named = {prefix: value for prefix, _, value in (tag.partition(":") for tag in tags) if value}
    host = str(metadata.get("hostname") or "")
    topics = [tag.removeprefix("topic:") for tag in tags if tag.partition(":")[0] not in _NO_TOPIC]
    return ForeignText(
        place,
        content,
        context=f"{kind} stored on {host}" if host else f"a {kind}",
        topics=(*topics, kind),
        tags=(*(tag for tag in tags if tag != "untagged"), kind),
        owner=str(metadata.get("agent_id") or named.get("agent") or ""),
        project=named.get("proj", ""),
        created=_instant(row["created_at"]),
        changed=_instant(row.get("updated_at")),
    )


def _tags_of(stored: object) -> Sequence[str]:
    """Return the tags of a row: between commas, in older files a JSON list."""
    text = str(stored or "").strip()
    if text.startswith("["):
        try:
            return [str(tag).strip() for tag in json.loads(text)]
        except (ValueError, TypeError):
            return []
    return [tag.strip() for tag in text.split(",") if tag.strip()]


def _metadata(stored: object) -> Mapping[str, object]:
    try:
        value = json.loads(str(stored or "{}"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _instant(stored: object) -> datetime | None:
    if not isinstance(stored, int | float):
        return None
    try:
        return datetime.fromtimestamp(stored, UTC)
    except (ValueError, OverflowError, OSError):
        return None
