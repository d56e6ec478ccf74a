"""The whole content of a document: the JSON that is stored as text is read too."""

import json
from typing import Final

from fleet_memory.rules.tokens import is_principal_id, is_token_id
from fleet_memory.stores import Json

_NO_TEXT: Final = frozenset(
    {
        "vector",
        "readingVector",
        "searchVector",
        "embedder",
        "words",
        "connection",
        "commits",
        "calls",
        "call",
        "shown",
    }
    | {"asked", "pair", "pairId", "ledger", "at"}
)
# Members whose `token` the server writes, the id of a caller's token; "" is the document itself: a
# line of the ledger.
_OF_SERVER: Final = frozenset({"", "source", "provenance", "words", "judgements"})
_OF_AGENTS: Final = frozenset(
    {"config", "baselines", "contextSummary"}
)  # any name below them is an agent's


def plain(value: Json) -> Json:
    """Return a document's value with the JSON that is stored as text read: lessons, answers, rows
    of a snapshot.
    """
    if isinstance(value, str) and value.startswith(("{", "[")):
        return _parsed(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def texts_of(value: Json, within: str = "") -> Json:
    """Return a document's value as `plain` does, without vectors, hashes and random ids, those of
    tokens too.

    `within` is the member that it is read from, e.g. "source"; "" for the document itself.
    """
    match plain(value):
        case dict() as members if within in _OF_AGENTS:
            return {name: texts_of(item, within) for name, item in members.items()}
        case dict() as members:
            return {
                name: texts_of(item, name)
                for name, item in members.items()
                if _may_be_text(within, name, item)
            }
        case list() as items:
            return [texts_of(item, within) for item in items]
        case other:
            return other


def _may_be_text(within: str, name: str, item: Json) -> bool:
    if name == "token" and within in _OF_SERVER and isinstance(item, str):
        return not (is_token_id(item) or is_principal_id(item))
    return not is_no_text(name, item)


def is_no_text(name: str, item: object) -> bool:
    """Whether a member of a document holds vectors, hashes or random ids: letters there are no
    text.

    `words` are the hash of a lesson's, or, as a list, the words about an entry with their evidence.
    """
    return name in _NO_TEXT and not (name == "words" and isinstance(item, list))


def _parsed(text: str) -> Json:
    rows: list[Json] = []
    for line in text.split("\n"):
        try:
            rows.append(json.loads(line) if line else "")
        except ValueError:
            return text
    return rows[0] if len(rows) == 1 else rows
