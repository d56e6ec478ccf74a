"""First guesses of agents at the arguments of commit_session, in the shape that its schema has.

A guess that can mean one thing only is taken as that. The schema refuses anything else. Clients
that fill every field send blank texts and nulls, which mean an absent field.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.tools.state import MAX_TITLE_CHARS

_MEMBERS: Final = {  # of contextSummary, by the names that agents give them
    "lastTask": "lastTask",
    "activeWorkItems": "activeWorkItems",
    "nextSteps": "activeWorkItems",
    "handoffNotes": "handoffNotes",
    "openQuestions": "openQuestions",
}
_LISTS: Final = {  # with the field that a text in place of an object is
    "patterns": "pattern",
    "reinforcements": "patternId",
    "verdicts": "pairId",
    "notes": "text",
    "missing": None,
}


def session_as_meant(sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments with lists for single items, objects for texts, and one
    `contextSummary`.

    Raises InvalidArgumentError for a part of the handoff in two places.
    """
    moved = {"contextSummary", "handoff", *_MEMBERS}
    meant = {
        name: value for name, value in sent.items() if name not in moved and not _is_blank(value)
    }
    for name, field in _LISTS.items():
        if name in meant:
            meant[name] = _listed(meant[name], field)
    summary: dict[str, JsonValue] = {}
    for place in ("contextSummary", "handoff", *_MEMBERS):
        value = sent.get(place)
        if _is_blank(value):
            continue
        if place in _MEMBERS or isinstance(value, str):
            value = {_MEMBERS.get(place, "handoffNotes"): value}
        if not isinstance(value, dict):
            return meant | {place: value}  # refused by the schema
        for name, part in value.items():
            member = _MEMBERS.get(name, name)
            if summary.get(member) is not None:
                raise InvalidArgumentError(
                    f"{place}: {member} was sent twice, and nothing was written; send it once"
                )
            if not (_is_blank(part) and (member == "lastTask" or isinstance(part, list))):
                summary[member] = _member(member, part)
    return meant | {"contextSummary": summary} if summary else meant


def _is_blank(value: JsonValue) -> bool:
    """Whether a value, or each item of a list, is null or a text of spaces; `[]` is not blank."""
    items = value if isinstance(value, list) and value else [value]
    return all(item is None or (isinstance(item, str) and not item.strip()) for item in items)


def _listed(value: JsonValue, field: str | None) -> JsonValue:
    """Return a value as a list; with `field` a text in it becomes an object with that field."""
    listed: list[JsonValue] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            listed.append({name: part for name, part in item.items() if part is not None})
        elif not _is_blank(item):
            listed.append({field: item} if field and isinstance(item, str) else item)
    return listed


def _member(name: str, value: JsonValue) -> JsonValue:
    """Return a part of the handoff; a sentence is the whole last task, or the lines of a list."""
    match name, value:
        case "lastTask", str():
            field = "title" if len(value) <= MAX_TITLE_CHARS else "outcome"
            return {"taskId": None, "title": None, "outcome": None, "notes": None, field: value}
        case "lastTask", dict():
            return {key: part for key, part in value.items() if part is None or not _is_blank(part)}
        case "activeWorkItems" | "openQuestions", str():
            return [line.strip() for line in value.splitlines() if line.strip()]
        case "activeWorkItems" | "openQuestions", list():
            return [item for item in value if not _is_blank(item)]
        case _:
            return value
