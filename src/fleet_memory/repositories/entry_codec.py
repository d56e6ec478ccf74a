"""An entry's document: its entry, and the fields that a change of an entry writes."""

from typing import NamedTuple

from fleet_memory.rules.entries import recorded_state
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.stores import ABSENT, Document, Json


class VersionedEntry(NamedTuple):
    """An entry as it was read, None for none, and the revision that a commit must expect."""

    entry: Entry | None
    revision: str


ABSENT_ENTRY = VersionedEntry(None, ABSENT)


def versioned_entry(document: Document) -> VersionedEntry:
    """Return a document's entry.

    Raises ValueError, KeyError, TypeError or AttributeError for fields of any other shape.
    """
    return VersionedEntry(Entry.from_fields(document.fields), document.revision)


def changed_entry_fields(before: VersionedEntry, after: Entry) -> dict[str, Json]:
    """Return the fields of an entry that differ; its provenance is long and seldom does. None
    removes a field.

    `state` is there to be asked for: the entry's state without the passing of time.
    """
    old, new = _fields(before.entry) if before.entry else {}, _fields(after)
    gone: dict[str, Json] = dict.fromkeys(old.keys() - new.keys())
    return gone | {
        name: value for name, value in new.items() if name not in old or old[name] != value
    }


def _fields(entry: Entry) -> dict[str, Json]:
    return {**entry.wire(), "state": recorded_state(entry)}
