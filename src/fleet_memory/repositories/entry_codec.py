"""An entry's document: its entry, and the fields that a change of an entry writes."""

from collections.abc import Sequence
from typing import NamedTuple

from fleet_memory.repositories.version_before import (
    ENTRY_FIELDS_BEFORE,
    converted_entry,
    is_entry_before,
)
from fleet_memory.rules.knowledge.state import recorded_state
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.stores import ABSENT, Document, Json


class VersionedEntry(NamedTuple):
    """An entry as it was read, None when there is none, and the revision that a commit must expect.

    `is_converted`: its document is of the version before, so a change writes all of it.
    """

    entry: Entry | None
    revision: str
    is_converted: bool = False


ABSENT_ENTRY = VersionedEntry(None, ABSENT)


def versioned_entry(document: Document, lines: Sequence[Document | None] = ()) -> VersionedEntry:
    """Return a document's entry; one of the version before is converted.

    `lines` are the ledger lines of `lines_of_documents`: without them a converted entry is good to
    be shown, and not to be written.

    Raises ValueError, KeyError, TypeError or AttributeError for fields of any other shape.
    """
    if is_entry_before(document.fields):
        return VersionedEntry(
            converted_entry(document.fields, lines), document.revision, is_converted=True
        )
    return VersionedEntry(Entry.from_fields(document.fields), document.revision)


def changed_entry_fields(before: VersionedEntry, after: Entry) -> dict[str, Json]:
    """Return the fields of an entry that differ; its provenance is long and seldom does. None
    removes a field.

    `state` is there to be asked for: the entry's state without the passing of time.
    """
    old, new = _fields(before.entry) if before.entry else {}, _fields(after)
    gone: dict[str, Json] = dict.fromkeys(old.keys() - new.keys())
    if before.is_converted:
        return gone | dict.fromkeys(ENTRY_FIELDS_BEFORE) | new
    return gone | {
        name: value for name, value in new.items() if name not in old or old[name] != value
    }


def _fields(entry: Entry) -> dict[str, Json]:
    return {**entry.wire(), "state": recorded_state(entry)}
