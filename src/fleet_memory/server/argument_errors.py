"""Why a call's arguments were refused, in words that let an agent correct them.

Refusals are logged at INFO, so that input is repeated only as a number or one word, never as a
sentence.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from fleet_memory.rules.text.credentials import is_shown, shown
from fleet_memory.rules.text.names import close_names
from fleet_memory.server.json_schema import Schema

Location: TypeAlias = tuple[int | str, ...]

_MAX_PROBLEMS: Final = 6  # named in one refusal
_MAX_PROBLEMS_READ: Final = 1_000  # pydantic makes 1 KB of each; chosen
_MAX_NAME_CHARS: Final = (
    60  # characters of a name that the client made up that are compared with known ones
)
_NUMBER: Final = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
CALLER_NAMES: Final = ("programId", "agentId")  # each stands for the other
_OTHER_WORDS: Final = {  # that agents have for an argument, in lower case
    argument: frozenset(words.split())
    for argument, words in {
        "pattern": "lesson text content title statement insight learning",
        "patterns": "lesson lessons learnings memories insights",
        "domain": "topic category area subject",
        "evidence": "why reason because context proof",
        "patternId": "id key lesson lessonid memoryid",
        "outcome": "result status verdict helpful",
        "reinforcements": "outcomes feedback helped reinforced",
        "verdicts": "judgements judgments",
        "missing": "question questions unanswered unknown gaps",
        "handoff": "todo todos next nextstep task tasks lasttasks summary sessionsummary "
        "handoffnotes status work",
        "contextSummary": "lasttask nextsteps activeworkitems openquestion openquestions "
        "handoff handoffnotes summary",
        "text": "note notes content body",
        "activeWorkItems": "todo todos next nextstep items pending",
        "handoffNotes": "summary status text",
    }.items()
}
_TOO_MANY: Final = re.compile(r"\w+ should have at most (\d+) items? after validation, not (\w+)")
_OF_NUMBERS: Final = frozenset(
    {
        "int_type",
        "int_from_float",
        "float_type",
        "bool_type",
        "less_than_equal",
        "greater_than_equal",
    }
)


def refusal_message(
    error: ValidationError, schema: Schema, place_sent: Callable[[Location], Location] = tuple
) -> str:
    """Return "confidence: Input should be …; limti: unknown, did you mean limit?", each field with
    its wire path.

    `place_sent` gives for a place in the schema's arguments the one in those that the client sent.
    """
    if (count := error.error_count()) > _MAX_PROBLEMS_READ:
        return (
            f"arguments: {count:,} problems; try one item of each list, as the tool's schema "
            "describes it"
        )
    problems = error.errors(include_url=False, include_context=False)
    texts = [
        _problem(problem, schema, place_sent(problem["loc"]))
        for problem in problems[:_MAX_PROBLEMS]
    ]
    if len(problems) > _MAX_PROBLEMS:
        texts.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return "; ".join(texts)


def closest(name: str, known: Sequence[str], unlisted: Sequence[str] = ()) -> str:
    """Return "did you mean …?" when a known or unlisted name is near, else the list of known
    names.
    """
    plain = name[:_MAX_NAME_CHARS].replace("_", "").casefold()
    meant = tuple(each for each in known if plain in _OTHER_WORDS.get(each, ()))
    near = meant or close_names(name[:_MAX_NAME_CHARS], (*known, *unlisted), 1)
    return f"did you mean {near[0]}?" if near else f"allowed: {', '.join(known) or 'nothing'}"


def _problem(problem: ErrorDetails, schema: Schema, sent_at: Location) -> str:
    location = problem["loc"]
    path = ".".join(shown(str(part)) for part in sent_at) or "arguments"
    match problem["type"]:
        case "missing" | "missing_argument":
            return f"{path}: required"
        case "extra_forbidden" | "unexpected_keyword_argument":
            names = _names_beside(location, schema)
            callers = (
                CALLER_NAMES if len(location) == 1 and not {*CALLER_NAMES}.isdisjoint(names) else ()
            )
            return f"{path}: unknown, {closest(str(location[-1]), names, callers)}"
        case "literal_error" if words := _words_allowed(location, schema):
            return f"{path}: {_not_among(problem['input'], words)}"
        case "too_long" if many := _TOO_MANY.fullmatch(problem["msg"]):
            return f"{path}: must have at most {many[1]} items, not {many[2]}"
        case kind:
            return f"{path}: {problem['msg']}" + (
                _instead(problem["input"]) if kind in _OF_NUMBERS else ""
            )


def _not_among(sent: object, words: Sequence[str]) -> str:
    """Return "'maybe' is not one of same, different", or "must be one of …" for a sentence; a close
    word is named.
    """
    allowed = ", ".join(words)
    if not isinstance(sent, str):
        return f"{_as_json(sent)} is not one of {allowed}"
    near = close_names(sent[:_MAX_NAME_CHARS], words, 1)
    hint = f", did you mean {near[0]}?" if near else ""
    return (
        f"{sent!r} is not one of {allowed}" if is_shown(sent) else f"must be one of {allowed}"
    ) + hint


def _instead(sent: object) -> str:
    """Return ", not 101": the value in place of a number. Of texts only one that is a number in
    quotes is shown.
    """
    if isinstance(sent, str) and not _NUMBER.fullmatch(sent):
        return ""
    return f", not {_as_json(sent)[:_MAX_NAME_CHARS]}"


def _as_json(sent: object) -> str:
    """Return a number, true or false as JSON; for anything larger its kind: its content may be
    anything.
    """
    match sent:
        case dict():
            return "an object"
        case list() | tuple():
            return "an array"
        case _:
            return json.dumps(sent)


def _names_beside(location: Location, schema: Schema) -> list[str]:
    node = _at(location[:-1], schema)
    properties = node.get("properties", {}) if isinstance(node, dict) else {}
    return list(properties) if isinstance(properties, dict) else []


def _words_allowed(location: Location, schema: Schema) -> list[str]:
    node = _at(location, schema)
    words = node.get("enum") if isinstance(node, dict) else None
    return [str(word) for word in words] if isinstance(words, list) else []


def _at(location: Location, schema: Schema) -> JsonValue:
    node: JsonValue = schema
    for part in location:
        node = _step(node, part)
    return node


def _step(node: JsonValue, part: int | str) -> JsonValue:
    if not isinstance(node, dict):
        return None
    if isinstance(part, int):
        return node.get("items")
    properties = node.get("properties")
    return properties.get(part) if isinstance(properties, dict) else None
