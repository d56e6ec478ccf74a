"""Messages of refused queries and commits, the same for every engine."""

from typing import Final, TypeAlias

from fleet_memory.errors import StoreError

Failure: TypeAlias = tuple[type[StoreError], str]
"""The error to raise, and its message."""

CONFLICT: Final = (
    "Someone else changed this memory at the same moment; nothing was written. Call again."
)
DOCUMENT_TOO_LARGE: Final = (
    "A document would grow beyond 1 MiB; nothing was written. Store less in it."
)
UNFIT: Final = (
    "A document holds half a character, NaN or an integer over 64 bits, which no store "
    "keeps; nothing was written."
)
ORDER_AFTER: Final = (
    "A query that reads on after an id comes by id and takes no other order; leave out one of them."
)
OTHER_SHAPE: Final = (
    "Another version of fleet-memory wrote this store, in a shape that this one does not read: run "
    "`fleet-memory export FILE` with that version (0.2.0 is commit 2d52425a), then `fleet-memory "
    "import FILE` with this one into a new store; nothing was changed."
)
