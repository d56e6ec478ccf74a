"""JSON schemas as clients get them: no references, no titles, no null. Some clients mishandle each
of these.
"""

from typing import Final, TypeAlias, cast

from pydantic import BaseModel, JsonValue

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


def outlined(schema: Schema) -> Schema:
    """Return an output schema of names, with the types of fields that are always there: clients pay
    for its bytes.
    """
    fields, always = (
        cast("dict[str, Schema]", schema["properties"]),
        cast("list[str]", schema.get("required", [])),
    )
    outline: Schema = {
        name: {"type": field["type"]} if name in always and "type" in field else {}
        for name, field in fields.items()
    }
    return schema | {"properties": outline}


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
