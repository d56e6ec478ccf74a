"""The arguments of tools: their schemas as clients get them, and why a call's were refused.

Schemas have no references, no titles and no null: some clients mishandle each of these. Refusals
let an agent correct its call; they are logged at INFO, so that input is repeated only as a number
or one word, never as a sentence.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, cast

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from fleet_memory.rules.text.credentials import is_shown, shown
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.value import Value, codec

Schema: TypeAlias = dict[str, JsonValue]

_DEFS: Final = "#/$defs/"
_LONG = ("brief", "description", "properties", "required", "additionalProperties")
_LITERAL = (
    "default",
    "const",
    "enum",
    "examples",
    "required",
)  # their values are data, not schemas


def input_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of arguments. Raises ValueError for a model that contains itself."""
    return _flat(model.model_json_schema(by_alias=True))


def published(schema: Schema) -> Schema:
    """Return an input schema as clients list it: they pay for its bytes, and docs/tools has all of
    it.

    A field marked `brief` shows its type alone. An object marked `outline: [names]` shows the names
    and types of those fields: another tool describes them. The others are accepted all the same. A
    default of `[]` is left out.
    """
    if schema.get("brief"):
        return {key: value for key, value in schema.items() if key not in _LONG}
    if isinstance(names := schema.get("outline"), list):
        return _short_object(schema, names)
    shown = dict(schema)
    if shown.get("default") == []:
        del shown["default"]
    if isinstance(fields := schema.get("properties"), dict):
        shown["properties"] = cast(
            "Schema", {name: published(cast("Schema", fields[name])) for name in fields}
        )
    if isinstance(items := schema.get("items"), dict):
        shown["items"] = published(items)
    return shown


def output_schema(answer: type[Value]) -> Schema:
    """Return the schema of an answer; a null inside is an absent field outside."""
    return _flat(codec(answer).json_schema(by_alias=True, mode="serialization"))


def _short_object(schema: Schema, names: list[JsonValue]) -> Schema:
    short: Schema = {key: schema[key] for key in ("type", "description") if key in schema}
    if not names:
        return short
    fields, required = (
        cast("dict[str, Schema]", schema["properties"]),
        cast("list[str]", schema["required"]),
    )
    short["properties"] = {
        name: _short_field(field) for name, field in fields.items() if name in names
    }
    short["required"] = [name for name in required if name in names]
    return short


def _short_field(field: Schema) -> Schema:
    return {key: field[key] for key in ("type", "enum") if key in field}


def _flat(schema: Schema) -> Schema:
    defs = cast("Schema", schema.pop("$defs", {}))
    schema.pop("description", None)  # the tool has its own
    return _Flattening(defs).walked(schema, ())


class _Flattening:
    def __init__(self, defs: Schema) -> None:
        self._defs = defs

    def walked(self, node: Schema, inside: tuple[str, ...]) -> Schema:
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._resolved(reference.removeprefix(_DEFS), inside) | self._walked_entries(
                node, inside
            )
        arms = node.get("anyOf")
        if isinstance(arms, list) and {"type": "null"} in arms:
            return self._without_null(node, arms, inside)
        return self._walked_entries(node, inside)

    def _resolved(self, name: str, inside: tuple[str, ...]) -> Schema:
        if name in inside:
            raise ValueError(f"{name} contains itself and cannot be published without references")
        definition = cast("Schema", self._defs[name])
        # A schema class's docstring is for its reader; clients read the fields' descriptions.
        return self.walked(
            {key: value for key, value in definition.items() if key != "description"},
            (*inside, name),
        )

    def _without_null(self, node: Schema, arms: list[JsonValue], inside: tuple[str, ...]) -> Schema:
        others: list[JsonValue] = [arm for arm in arms if arm != {"type": "null"}]
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        if len(others) > 1:
            return self._walked_entries({"anyOf": others, **rest}, inside)
        return self.walked(cast("Schema", others[0]), inside) | self._walked_entries(rest, inside)

    def _walked_entries(self, node: Schema, inside: tuple[str, ...]) -> Schema:
        walked = {
            key: self._walked_value(key, value, inside)
            for key, value in node.items()
            if not _dropped(key, value)
        }
        if walked.get("additionalProperties") == {}:  # redundant: anything is allowed without it
            del walked["additionalProperties"]
        return walked

    def _walked_value(self, key: str, value: JsonValue, inside: tuple[str, ...]) -> JsonValue:
        if key in _LITERAL:
            return value
        if key == "properties" and isinstance(value, dict):
            return {
                name: self.walked(field, inside)
                for name, field in value.items()
                if isinstance(field, dict)
            }
        if isinstance(value, dict):
            return self.walked(value, inside)
        if isinstance(value, list):
            return [self.walked(item, inside) if isinstance(item, dict) else item for item in value]
        return value


def _dropped(key: str, value: JsonValue) -> bool:
    return key in ("$ref", "$defs", "title", "discriminator") or (
        key == "default" and value is None
    )


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
