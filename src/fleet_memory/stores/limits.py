"""The size limits of documents and commits, for every engine."""

from collections.abc import Mapping
from typing import Final

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
