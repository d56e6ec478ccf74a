"""The base of every schema: frozen, snake_case inside, camelCase outside; the two spellings are joined here."""

from typing import Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Value(BaseModel):
    """An immutable value. Change one with `changed`, never in place."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")

    def changed(self, **fields: object) -> Self:
        """Return a copy with these fields replaced; they are trusted, not validated again."""
        return self.model_copy(update=fields)

    def wire(self) -> dict[str, object]:
        """Return the JSON object as clients see it: camelCase, absent instead of null."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def compact(self) -> str:
        """Return the JSON text as stores keep it: camelCase, defaults left out."""
        return self.model_dump_json(by_alias=True, exclude_defaults=True)


class Input(Value):
    """A value sent by a client: unknown fields are refused, names are the wire's."""

    model_config = ConfigDict(extra="forbid", populate_by_name=False)
