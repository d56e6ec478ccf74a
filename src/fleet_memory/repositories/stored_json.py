"""The whole content of a document: the JSON that is stored as text is read too."""

import json
from typing import Final

from fleet_memory.rules.identity.tokens import is_token_id
from fleet_memory.stores import Json

# Members of documents that hold vectors, hashes and random ids: letters there are no text.
NO_TEXT: Final = frozenset(
    {"vector", "readingVector", "embedder", "words", "connection", "commits", "calls", "call", "shown", "asked", "pair"}
    | {"pairId", "ledger", "at"}
)


def plain(value: Json) -> Json:
    """Return a document's value with the JSON that is stored as text read: lessons, answers, rows of a snapshot."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        return _parsed(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def texts_of(value: Json) -> Json:
    """Return a document's value as `plain` does, without vectors, hashes and random ids, those of tokens too."""
    match plain(value):
        case dict() as members:
            return {name: texts_of(item) for name, item in members.items() if _may_be_text(name, item)}
        case list() as items:
            return [texts_of(item) for item in items]
        case other:
            return other


def _may_be_text(name: str, item: Json) -> bool:
    is_id = name == "token" and isinstance(item, str) and is_token_id(item)
    return name not in NO_TEXT and not is_id


def _parsed(text: str) -> Json:
    rows: list[Json] = []
    for line in text.split("\n"):
        try:
            rows.append(json.loads(line) if line else "")
        except ValueError:
            return text
    return rows[0] if len(rows) == 1 else rows
