"""First guesses of agents at the arguments of commit_session, in the shape that its schema has.

A guess that can mean one thing only is taken as that. The schema refuses anything else. Clients
that fill every field send blank texts and nulls, which mean an absent field.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from pydantic import JsonValue

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.tools.state import MAX_TITLE_CHARS

_Location: TypeAlias = tuple[int | str, ...]
_MEMBERS: Final = {  # of contextSummary, by the names that agents give them
    "lastTask": "lastTask",
    "activeWorkItems": "activeWorkItems",
    "nextSteps": "activeWorkItems",
    "handoffNotes": "handoffNotes",
    "openQuestions": "openQuestions",
}
_LISTS: Final = {
    "patterns": None,
    "reinforcements": "patternId",
    "verdicts": None,
    "notes": "text",
    "missing": None,
}
_WORDED: Final = (
    "reinforcements",
    "verdicts",
    "notes",
)  # null members of their items count as absent
_LESSON: Final = '{"pattern": "…", "domain": "…", "confidence": 0.8, "evidence": "…"}'


def session_as_meant(sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments with lists for single items, objects for sentences, and one
    `contextSummary`.

    Raises InvalidArgumentError for a lesson without evidence, and for a part of the handoff in two
    places.
    """
    moved = {
        "contextSummary",
        *_MEMBERS,
        *(("handoff",) if isinstance(sent.get("handoff"), str | dict) else ()),
    }
    meant = {name: value for name, value in sent.items() if name not in moved}
    _require_lessons(meant.get("patterns"))
    for name, field in _LISTS.items():
        if name in meant and _is_blank(meant[name]):
            del meant[name]
        elif name in meant:
            meant[name] = _listed(meant[name], field, worded=name in _WORDED)
    summary = _merged(dict(_places(sent)))
    return meant if summary is None else meant | {"contextSummary": summary}


def state_as_meant(sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments of update_program_state, with an object where a sentence sums the
    context up.
    """
    rest = {name: value for name, value in sent.items() if name != "contextSummary"}
    summary = sent.get("contextSummary")
    return (
        rest
        if _is_blank(summary)
        else rest | {"contextSummary": _merged({"contextSummary": summary})}
    )


def sent_place(sent: Mapping[str, JsonValue], location: _Location) -> _Location:
    """Return the place in the arguments as sent of a place in those that were meant, e.g.
    ("nextSteps", 1).
    """
    value: JsonValue = dict(sent)
    place: list[int | str] = []
    for part in _moved_from(sent, location):
        step = part
        match value, part:
            case dict(), int():
                continue  # one item in place of a list
            case list(), int():
                is_filtered = len(place) == 1 or location[0] == "contextSummary"
                filled = [
                    at for at, item in enumerate(value) if not (is_filtered and _is_blank(item))
                ]
                step = filled[part] if part < len(filled) else part
                value = value[step] if step < len(value) else None
            case dict(), str():
                value = value.get(part)
            case _:
                break
        place.append(step)
    return tuple(place)


def _moved_from(sent: Mapping[str, JsonValue], location: _Location) -> _Location:
    if len(location) < 2 or location[0] != "contextSummary":
        return location
    for place, value in reversed(list(_places(sent))):
        if _MEMBERS.get(place) == location[1]:
            return (place, *location[2:])
        if isinstance(value, str) and place not in _MEMBERS and location[1] == "handoffNotes":
            return (place,)
        for name, part in (
            value.items() if isinstance(value, dict) and place not in _MEMBERS else ()
        ):
            if _MEMBERS.get(name, name) == location[1] and part is not None:
                return (place, name, *location[2:])
    return location


def _is_blank(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _without_blanks(items: list[JsonValue]) -> list[JsonValue]:
    return [item for item in items if not _is_blank(item)]


def _listed(value: JsonValue, field: str | None, *, worded: bool) -> JsonValue:
    """Return a value as a list; with `field` a text in it becomes an object with that field."""
    if not isinstance(value, str | dict | list):
        return value
    listed: list[JsonValue] = []
    for item in _without_blanks(value) if isinstance(value, list) else [value]:
        if worded and isinstance(item, dict):
            listed.append({name: part for name, part in item.items() if part is not None})
        else:
            listed.append({field: item} if field and isinstance(item, str) else item)
    return listed


def _require_lessons(patterns: JsonValue) -> None:
    lessons = enumerate(patterns) if isinstance(patterns, list) else [(0, patterns)]
    for position, lesson in lessons:
        if isinstance(lesson, str) and not _is_blank(lesson):
            place = f"patterns.{position}" if isinstance(patterns, list) else "patterns"
            raise InvalidArgumentError(
                f"{place}: a lesson needs its topic, your confidence and what you saw: "
                f"{_LESSON}; nothing was written"
            )


def _places(sent: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Yield the arguments of the handoff that are not blank."""
    for name in ("contextSummary", *_MEMBERS, "handoff"):
        value = sent.get(name)
        if name == "handoff" and not isinstance(value, str | dict):
            continue  # refused by the schema
        if not _is_blank(value) and not (
            isinstance(value, list) and value and not _without_blanks(value)
        ):
            yield name, value


def _merged(places: Mapping[str, JsonValue]) -> JsonValue:
    """Return the handoff, merged from all its places; None for none."""
    merged: dict[str, JsonValue] = {}
    place_of: dict[str, str] = {}
    for place, value in places.items():
        members = _members(place, value)
        if not isinstance(members, dict):
            return members  # refused by the schema
        for name, part in members.items():
            member = _MEMBERS.get(name, name)
            if _is_absent(place, member, part) or (part is None and member in merged):
                continue
            where = place if place in _MEMBERS or isinstance(value, str) else f"{place}.{name}"
            if merged.get(member) is not None and name in _MEMBERS:
                raise InvalidArgumentError(
                    f"{where}: {place_of[member]} was sent too, and nothing was written; send "
                    "one of the two"
                )
            place_of[member] = where
            merged[member] = _member(member, part)
    return merged if places else None


def _members(place: str, value: JsonValue) -> JsonValue:
    if place in _MEMBERS:
        return {place: value}
    return {"handoffNotes": value} if isinstance(value, str) else value


def _is_absent(place: str, member: str, part: JsonValue) -> bool:
    """Whether a part of the handoff is blank; in `contextSummary` a blank text empties every field
    but `lastTask`.
    """
    if isinstance(part, str):
        return _is_blank(part) and (member == "lastTask" or place != "contextSummary")
    return isinstance(part, list) and bool(part) and not _without_blanks(part)


def _member(name: str, value: JsonValue) -> JsonValue:
    """Return a part of the handoff; a sentence is the whole last task, or the lines of a list."""
    match name, value:
        case "lastTask", str():
            field = "title" if len(value) <= MAX_TITLE_CHARS else "outcome"
            return {"taskId": None, "title": None, "outcome": None, "notes": None, field: value}
        case "lastTask", dict():
            return {
                key: part
                for key, part in value.items()
                if key not in ("taskId", "title") or part is None or not _is_blank(part)
            }
        case "activeWorkItems" | "openQuestions", str():
            return [line.strip() for line in value.splitlines() if line.strip()]
        case "activeWorkItems" | "openQuestions", list():
            return _without_blanks(value)
        case _:
            return value
