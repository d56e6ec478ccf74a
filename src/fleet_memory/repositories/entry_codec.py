"""An entry's document: the entry that it holds, and which fields a change of an entry writes."""

from typing import NamedTuple

from fleet_memory.schemas.knowledge import Entry
from fleet_memory.stores import ABSENT, Document, Json


class VersionedEntry(NamedTuple):
    """An entry as it was read, None when there is none, and the revision that a commit must expect."""

    entry: Entry | None
    revision: str


def versioned_entry(document: Document | None) -> VersionedEntry:
    """Return the entry that a document holds."""
    if document is None:
        return VersionedEntry(None, ABSENT)
    return VersionedEntry(Entry.from_fields(document.fields), document.revision)


def changed_entry_fields(before: Entry | None, after: Entry) -> dict[str, Json]:
    """Return the fields of an entry that differ; its provenance is long and seldom does."""
    old = before.wire() if before else {}
    return {name: value for name, value in after.wire().items() if name not in old or old[name] != value}
