"""How a document lies in rows, so that a commit writes only its changes; nothing here touches the
file.

Short fields lie together in the body. A long field is a part of its own; a long map, and one whose
entries are written by themselves, one part per entry, named "field" and "map.key". For each of them
the body has null, which no field of a document is. A body of another length is written whole, so
nothing that grows with each commit belongs there.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.stores import Document, Json, Ref
from fleet_memory.stores.limits import document_bytes

PartValue: TypeAlias = str | bytes
"""The value of a part: a text as it is, anything else as JSON."""
PartRow: TypeAlias = tuple[int, str, PartValue]
"""Place, name, value."""

MAX_BODY_FIELD_BYTES: Final = 550  # Source: docs/decisions/rows-and-pages.md
_AS_THEY_ARE: Final = (str, int, float, bool, type(None))


class DocumentRow(NamedTuple):
    """The columns of a document's row but its path; `size` is its `document_bytes`."""

    number: int
    revision: int
    size: int
    body: str


class StoredDocument(NamedTuple):
    """A document, and how it lies in the file: its row's number and size, its body, its parts'
    places (ascending).
    """

    document: Document
    number: int
    size: int
    body: Mapping[str, Json]
    places: Mapping[str, int]


class DocumentChange:
    """A document while it is being changed: its fields and body, and the parts to write and to
    remove.

    Fields and entries that stay are the same objects as before; values of a caller are copied.
    """

    def __init__(self, before: StoredDocument | None = None) -> None:
        self.fields: dict[str, Json] = dict(before.document.fields) if before else {}
        self.body: dict[str, Json] = dict(before.body) if before else {}
        self.size = before.size if before else 0
        self.parts: dict[str, Json] = {}
        self.removed: set[str] = set()
        self._own_maps: set[str] = (
            set()
        )  # copied already, so that the document before is left alone

    def apply(self, changes: Mapping[str, Json]) -> None:
        """Apply the fields of a `Write`. Raises ValueError for half characters and integers over 64
        bits.
        """
        for name, value in changes.items():
            field, dot, key = name.partition(".")
            entries = self.fields.get(field)
            if not dot:
                self._set_field(field, value)
            elif isinstance(entries, dict) and self.body[field] is None:
                self._set_part_of(field, entries, key, value)
            elif isinstance(entries, dict):
                others = {other: entry for other, entry in entries.items() if other != key}
                self._set_field(
                    field, others if value is None else {**entries, key: value}, by_entry=True
                )
            elif value is not None:
                self._set_field(field, {key: value}, by_entry=True)
        # those that most commits change lie together, and SQLite writes no page of a row whose
        # bytes stay
        self.body = {
            **{name: value for name, value in self.body.items() if name in changes},
            **self.body,
        }

    def _set_field(self, field: str, value: Json, *, by_entry: bool = False) -> None:
        before = self._parts_of(field)
        if field in self.fields:
            self.size -= document_bytes({field: self.fields.pop(field)})
        if value is None:
            self.body.pop(field, None)
        else:
            self.fields[field] = copied = _copied(value)
            size = document_bytes(copied)
            self.size += document_bytes(field) + size
            self.body[field] = (
                copied if size <= MAX_BODY_FIELD_BYTES and not (by_entry and copied) else None
            )
            self._own_maps.add(field)
        after = self._parts_of(field)
        for name in before.keys() - after.keys():
            self._remove(name)
        for name, part in after.items():
            if name not in before or not _is_same(before[name], part):
                self._put(name, part)

    def _set_part_of(self, field: str, entries: dict[str, Json], key: str, value: Json) -> None:
        if field not in self._own_maps:
            self._own_maps.add(field)
            self.fields[field] = entries = dict(entries)
        if key in entries:
            self.size -= document_bytes(
                {key: entries.pop(key)} if value is None else {key: entries[key]}
            )
        if value is not None:
            entries[key] = copied = _copied(value)
            self.size += document_bytes({key: copied})
            self._put(f"{field}.{key}", copied)
        else:
            self._remove(f"{field}.{key}")
            if not entries:
                self.body[field] = {}

    def _parts_of(self, field: str) -> dict[str, Json]:
        value = self.fields.get(field)
        if value is None or self.body[field] is not None:
            return {}
        return (
            {f"{field}.{key}": each for key, each in value.items()}
            if isinstance(value, dict)
            else {field: value}
        )

    def _put(self, name: str, part: Json) -> None:
        self.parts[name] = part
        self.removed.discard(name)

    def _remove(self, name: str) -> None:
        self.parts.pop(name, None)
        self.removed.add(name)


def stored_document(
    ref: Ref, row: DocumentRow, read_parts: Callable[[], Iterable[PartRow]]
) -> StoredDocument:
    """Return a document from its row, and its parts if it has any.

    Raises ValueError, LookupError or TypeError for a damaged one.
    """
    body = json.loads(row.body)
    if not isinstance(body, dict):
        raise ValueError("its body is no map")  # noqa: TRY004 - as json raises for bodies that are no JSON
    fields, places = dict(body), dict[str, int]()
    if None in fields.values():
        for place, name, part in read_parts():
            places[name] = place
            value = part if isinstance(part, str) else json.loads(part)
            field, dot, key = name.partition(".")
            if not dot:
                fields[field] = value
            elif (entries := fields[field]) is None:
                fields[field] = {key: value}
            else:
                entries[key] = value
        if None in fields.values():
            raise ValueError("it lacks a part")
    return StoredDocument(
        Document(ref, fields, str(row.revision)), row.number, row.size, body, places
    )


def encoded(value: Json) -> PartValue:
    """Return the value of a part. Raises ValueError for a value that no engine stores, e.g. NaN."""
    return value if isinstance(value, str) else as_json(value).encode()


def as_json(value: Json) -> str:
    """Return the JSON of a value. Raises ValueError for NaN and infinity."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _copied(value: Json) -> Json:
    """Return a value as it would be read, a copy of the caller's. Raises ValueError for an integer
    over 64 bits.
    """
    if (
        type(value) is int and not -(2**63) <= value < 2**63
    ):  # SQLite finds those of a column, not those within JSON
        raise ValueError("an integer over 64 bits")
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    read: Json = json.loads(json.dumps(value))  # e.g. an enumeration
    return read


def _is_same(before: Json, after: Json) -> bool:
    return before is after or (isinstance(before, str) and before == after)  # 1 == 1.0 == True
