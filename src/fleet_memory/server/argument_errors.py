"""Why a call's arguments were refused, in words that let an agent correct them. Input is never repeated at length."""

import difflib
from collections.abc import Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from fleet_memory.server.json_schema import Schema

Location: TypeAlias = tuple[int | str, ...]

_MAX_PROBLEMS: Final = 6  # named in one refusal
_MAX_NAME_CHARS: Final = 60  # characters shown of a name that the client made up


def refusal_message(error: ValidationError, schema: Schema) -> str:
    """Return "confidence: Input should be …; limti: unknown, did you mean limit?", each field with its wire path."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    said = [_problem(problem, schema) for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        said.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return "; ".join(said)


def closest(name: str, known: Sequence[str]) -> str:
    """Return "did you mean …?" when a known name is near, else the list of them."""
    near = difflib.get_close_matches(name[:_MAX_NAME_CHARS].lower(), [each.lower() for each in known], n=1)
    meant = [each for each in known if each.lower() in near]
    return f"did you mean {meant[0]}?" if meant else f"allowed: {', '.join(known) or 'nothing'}"


def _problem(problem: ErrorDetails, schema: Schema) -> str:
    location = problem["loc"]
    path = ".".join(_clipped(str(part)) for part in location) or "arguments"
    match problem["type"]:
        case "missing":
            return f"{path}: required"
        case "extra_forbidden":
            return f"{path}: unknown, {closest(str(location[-1]), _names_beside(location, schema))}"
        case _:
            return f"{path}: {problem['msg']}"


def _clipped(name: str) -> str:
    readable = name if name.isprintable() else repr(name[:_MAX_NAME_CHARS])
    return readable if len(readable) <= _MAX_NAME_CHARS else readable[:_MAX_NAME_CHARS] + "…"


def _names_beside(location: Location, schema: Schema) -> list[str]:
    node: JsonValue = schema
    for part in location[:-1]:
        node = _step(node, part)
    properties = node.get("properties", {}) if isinstance(node, dict) else {}
    return list(properties) if isinstance(properties, dict) else []


def _step(node: JsonValue, part: int | str) -> JsonValue:
    if not isinstance(node, dict):
        return None
    if isinstance(part, int):
        return node.get("items")
    properties = node.get("properties")
    return properties.get(part) if isinstance(properties, dict) else None
