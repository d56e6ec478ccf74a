"""The bases of every schema: snake_case inside, camelCase outside; the two spellings are joined
here.

A `Value` is a frozen dataclass that pydantic checks: change one with `dataclasses.replace`, which
mypy checks field by field and pydantic checks at run time. It never changes, so a value derived
from it may be cached on it as a `cached_property`, which is neither compared nor written nor
copied. An `Input` is a pydantic model: the argument of a tool.
"""

import threading
from collections.abc import Mapping
from dataclasses import field, fields
from functools import cached_property
from typing import Any, Final, Self, TypeAlias, TypeVar, dataclass_transform

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

InvalidValueError: TypeAlias = ValidationError
"""A field of a `Value` got a wrong type, when it was made, replaced or read."""

_T = TypeVar("_T")


def _published(schema: dict[str, Any], kind: type) -> None:  # Any: any JSON schema
    # "forbid" is for who constructs one; a later version may send more fields
    schema.pop("additionalProperties", None)
    for each in fields(kind):
        if each.default_factory is dict:  # a schema names no default that is made
            schema["properties"][to_camel(each.name)]["default"] = {}


_CONFIG: Final = ConfigDict(
    alias_generator=to_camel,
    validate_by_name=True,
    validate_by_alias=False,
    extra="forbid",
    strict=True,
    # at the first use: building all that a server may need would take a sixth of its start
    defer_build=True,
    json_schema_extra=_published,
)
# Any: each class maps to its own adapter, which `codec` types
_CODECS: Final[dict[type, TypeAdapter[Any]]] = {}

_BUILDING: Final = threading.RLock()  # a class may ask for the codec of another while it is built


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Value:
    """An immutable value. A misspelt field or a wrong type is refused, by mypy and at run time."""

    def __init_subclass__(cls) -> None:
        """Make each subclass a frozen dataclass."""
        dataclass(frozen=True, kw_only=True, config=_CONFIG)(cls)

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Return the value of a JSON object as `wire` returns it; unknown fields are ignored,
        numbers may be texts.
        """
        return codec(cls).validate_python(
            fields, strict=False, extra="ignore", by_alias=True, by_name=False
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the value of a JSON text as `compact` returns it; unknown fields are ignored."""
        return decoded_json(codec(cls), text)

    @classmethod
    def from_stored(cls, text: str) -> Self:
        """Return the value of a stored text, which stays its `stored_text`, e.g. with fields of a
        later version.
        """
        value = cls.from_json(text)
        value.__dict__["stored_text"] = text  # as `cached_property` keeps it
        return value

    def wire(self) -> dict[str, JsonValue]:
        """Return the JSON object as clients see it: camelCase, absent instead of null."""
        adapter = codec(type(self))
        wire: dict[str, JsonValue] = adapter.dump_python(
            self, mode="json", by_alias=True, exclude_none=True
        )
        return wire

    def compact(self) -> str:
        """Return the JSON text as stores keep it: camelCase, defaults left out."""
        return codec(type(self)).dump_json(self, by_alias=True, exclude_defaults=True).decode()

    @cached_property
    def stored_text(self) -> str:
        """The text that the value was read from by `from_stored`, else that of `compact`; made
        once.
        """
        return self.compact()

    @cached_property
    def stored_bytes(self) -> int:
        """The length of `stored_text` in UTF-8."""
        return len(self.stored_text.encode())


class Input(BaseModel):
    """A value sent by a client: unknown fields are refused, names are the wire's."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, extra="forbid")


def codec(kind: type[_T]) -> TypeAdapter[_T]:
    """Return the codec of this class, made once per class: several threads may ask for it at
    once.
    """
    if kind not in _CODECS:
        with _BUILDING:
            if kind not in _CODECS:
                adapter = TypeAdapter(kind)
                adapter.rebuild()  # whole before another thread sees it
                _CODECS[kind] = adapter
    return _CODECS[kind]


def decoded_json(adapter: TypeAdapter[_T], text: str) -> _T:
    """Return the value of a stored JSON text; unknown fields are ignored, so that older and newer
    versions share it.
    """
    return adapter.validate_json(text, strict=False, extra="ignore", by_alias=True, by_name=False)
