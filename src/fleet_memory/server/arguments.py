"""The arguments of tools: their schemas as clients get them, and why a call's were refused.

Schemas have no references, no titles and no null: some clients mishandle each of these. Refusals
let an agent correct its call; they are logged at INFO, so that a value is never repeated.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from fleet_memory.rules.text.credentials import shown
from fleet_memory.rules.text.keys import close_names
from fleet_memory.schemas.value import Value, codec

Schema: TypeAlias = dict[str, JsonValue]

_DEFS: Final = "#/$defs/"
_LITERAL = ("default", "const", "enum", "examples", "required")  # data, no schemas


def input_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of arguments."""
    return _flat(model.model_json_schema(by_alias=True))


def published(schema: Schema) -> Schema:
    """Return an input schema as clients list it: they pay for its bytes, and docs/tools has all of
    it.

    An object marked `outline: [names]` shows the names and types of those fields: another tool
    describes them. The others are accepted all the same. A default of `[]` is left out.
    """
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
    defs = cast("dict[str, Schema]", schema.pop("$defs", {}))
    schema.pop("description", None)  # the tool has its own
    return _inlined(schema, defs)


def _inlined(node: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Return a schema with definitions in place of references, without titles and null."""
    if isinstance(reference := node.get("$ref"), str):
        # A schema class's docstring is for its reader; clients read the fields' descriptions.
        definition = _without(defs[reference.removeprefix(_DEFS)], "description")
        return _inlined({**definition, **_without(node, "$ref")}, defs)
    if isinstance(arms := node.get("anyOf"), list) and {"type": "null"} in arms:
        others = [cast("Schema", arm) for arm in arms if arm != {"type": "null"}]
        only: Schema = others[0] if len(others) == 1 else {"anyOf": [*others]}
        return _inlined({**only, **_without(node, "anyOf")}, defs)
    inlined: Schema = {}
    for key, value in node.items():
        if key in ("title", "discriminator") or (key == "default" and value is None):
            continue
        if key == "properties":
            fields = cast("dict[str, Schema]", value)
            inlined[key] = {name: _inlined(field, defs) for name, field in fields.items()}
        elif key in _LITERAL:
            inlined[key] = value
        elif isinstance(value, list):
            inlined[key] = [_inlined(it, defs) if isinstance(it, dict) else it for it in value]
        else:
            inlined[key] = _inlined(value, defs) if isinstance(value, dict) else value
    if inlined.get("additionalProperties") == {}:  # redundant: anything is allowed without it
        del inlined["additionalProperties"]
    return inlined


def _without(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


Location: TypeAlias = tuple[int | str, ...]

_MAX_PROBLEMS: Final = 6  # named in one refusal
_MAX_PROBLEMS_READ: Final = 1_000  # pydantic makes 1 KB of each; chosen
_MAX_NAME_CHARS: Final = (
    60  # characters of a name that the client made up that are compared with known ones
)
CALLER_NAMES: Final = ("programId", "agentId")  # each stands for the other


def refusal_message(error: ValidationError, schema: Schema) -> str:
    """Return "confidence: Input should be …; limti: unknown, did you mean limit?", each field with
    its wire path.
    """
    if (count := error.error_count()) > _MAX_PROBLEMS_READ:
        return (
            f"arguments: {count:,} problems; try one item of each list, as the tool's schema "
            "describes it"
        )
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    texts = [_problem(problem, schema) for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        texts.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return "; ".join(texts)


def closest(name: str, known: Sequence[str]) -> str:
    """Return "did you mean …?" when a known name is near, else the list of known names."""
    near = close_names(name[:_MAX_NAME_CHARS], known, 1)
    return f"did you mean {near[0]}?" if near else f"allowed: {', '.join(known) or 'nothing'}"


def _problem(problem: ErrorDetails, schema: Schema) -> str:
    location = problem["loc"]
    path = ".".join(shown(str(part)) for part in location) or "arguments"
    match problem["type"]:
        case "missing" | "missing_argument":
            hint = ", one name that you always use" if path in CALLER_NAMES else ""
            return f"{path}: required{hint}"
        case "extra_forbidden" | "unexpected_keyword_argument":
            return f"{path}: unknown, {closest(str(location[-1]), _names_beside(location, schema))}"
        case _:
            return f"{path}: {problem['msg']}"


def _names_beside(location: Location, schema: Schema) -> list[str]:
    """Return the names that the schema has beside the last part of a place."""
    node = schema
    for part in location[:-1]:
        inside = node.get("items") if isinstance(part, int) else _fields(node).get(part)
        node = cast("Schema", inside or {})
    return list(_fields(node))


def _fields(schema: Schema) -> Schema:
    return cast("Schema", schema.get("properties", {}))
