"""What an engine says about the data it keeps; `fleet-memory check` shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """`documents` counts the documents per collection group, e.g. {"programs": 12}: the last part of the path."""

    schema_version: int
    intact: bool
    documents: dict[str, int]
