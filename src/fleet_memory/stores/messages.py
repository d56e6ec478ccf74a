"""Limits of documents and commits, and messages of refused ones, the same for every engine."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from fleet_memory.errors import StoreError
from fleet_memory.stores import Json

# `document_bytes` of the fields; Source: Firestore's 1 MiB for a document, less its path, so that a
# memory fits each
MAX_DOCUMENT_BYTES: Final = 1_048_000
# bytes of values; Source: Firestore's emulator refuses requests of 4 MiB, and names and revisions
# add to the values
MAX_COMMIT_BYTES: Final = 2_500_000


def document_bytes(value: Json | Mapping[str, Json]) -> int:
    """Return the bytes of fields, or of a value, as Firestore counts them. Raises ValueError for
    half characters.
    """
    if isinstance(value, str):
        return len(value.encode()) + 1
    if isinstance(value, Mapping):
        return sum(document_bytes(name) + document_bytes(each) for name, each in value.items())
    if isinstance(value, list):
        return sum(map(document_bytes, value))
    return 8


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
