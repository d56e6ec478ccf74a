"""What an engine says about the data it keeps; `fleet-memory check` shows it."""

from dataclasses import dataclass
from typing import Protocol

from fleet_memory.stores import Store


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """`documents` counts the documents per collection group, e.g. {"programs": 12}: the last part of the path."""

    schema_version: int
    intact: bool
    documents: dict[str, int]


class CheckedStore(Store, Protocol):
    """A store that can report its health."""

    async def check(self) -> StoreHealth:
        """Look at everything and report. Raises StoreError when that is not possible."""
