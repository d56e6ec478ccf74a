"""First guesses of agents at the arguments of commit_session, in the shape that its schema has.

A guess that can mean one thing only is taken as that. Whatever else is wrong is left for the schema to refuse.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.schemas.state import MAX_TITLE_CHARS

_MEMBERS: Final = {  # of contextSummary, by the names that agents give them
    "lastTask": "lastTask",
    "activeWorkItems": "activeWorkItems",
    "nextSteps": "activeWorkItems",
    "handoffNotes": "handoffNotes",
    "openQuestions": "openQuestions",
}
_LISTS: Final = {"patterns": None, "reinforcements": "patternId", "verdicts": None, "notes": "text", "missing": None}
_LESSON: Final = '{"pattern": "…", "domain": "…", "confidence": 0.8, "evidence": "…"}'


def session_as_meant(sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments with lists for single items, objects for sentences, and one `contextSummary`.

    Raises InvalidArgumentError for a lesson without evidence, and for a part of the handoff in two places.
    """
    meant = {name: value for name, value in sent.items() if name not in _MEMBERS}
    for name, field in _LISTS.items():
        if name in meant:
            meant[name] = _listed(meant[name], field)
    _require_lessons(meant.get("patterns"))
    if isinstance(meant.get("handoff"), dict):
        del meant["handoff"]
    summary = _summary(sent)
    return meant if summary is None else meant | {"contextSummary": summary}


def state_as_meant(sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments of update_program_state, with an object where a sentence sums the context up."""
    summary = sent.get("contextSummary")
    return {**sent, "contextSummary": _merged({"contextSummary": summary})} if summary is not None else dict(sent)


def _listed(value: JsonValue, field: str | None) -> JsonValue:
    """Return a list of what was sent; with `field` a text in it becomes an object with that field."""
    if not isinstance(value, str | dict | list):
        return value
    items = value if isinstance(value, list) else [value]
    return [{field: item} if field and isinstance(item, str) else item for item in items]


def _require_lessons(patterns: JsonValue) -> None:
    for position, lesson in enumerate(patterns if isinstance(patterns, list) else ()):
        if isinstance(lesson, str):
            raise InvalidArgumentError(
                f"patterns.{position}: a lesson needs its topic, your confidence and what you saw: {_LESSON}; "
                "nothing was written"
            )


def _summary(sent: Mapping[str, JsonValue]) -> JsonValue:
    """Return what is handed over, from wherever it stands; None for nothing."""
    names = ("contextSummary", *_MEMBERS, *(("handoff",) if isinstance(sent.get("handoff"), dict) else ()))
    return _merged({name: sent[name] for name in names if sent.get(name) is not None})


def _merged(places: Mapping[str, JsonValue]) -> JsonValue:
    merged: dict[str, JsonValue] = {}
    place_of: dict[str, str] = {}
    for place, value in places.items():
        if place in _MEMBERS:
            members: JsonValue = {place: value}
        else:
            members = {"handoffNotes": value} if isinstance(value, str) else value
        if not isinstance(members, dict):
            return members  # refused by the schema
        for name, part in members.items():
            member = _MEMBERS.get(name, name)
            where = name if place in _MEMBERS else f"{place}.{name}"
            if member in merged and name in _MEMBERS:
                raise InvalidArgumentError(
                    f"{where}: {place_of[member]} was sent too, and nothing was written; send one of the two"
                )
            place_of[member] = where
            merged[member] = _member(member, part)
    return merged if places else None


def _member(name: str, value: JsonValue) -> JsonValue:
    """Return a part of the handoff; a sentence is the whole last task, or the lines of a list."""
    if not isinstance(value, str):
        return value
    if name == "lastTask":
        field = "title" if len(value) <= MAX_TITLE_CHARS else "outcome"
        return {"taskId": None, "title": None, "outcome": None, "notes": None, field: value}
    if name in ("activeWorkItems", "openQuestions"):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return value
