"""The programs that this process read last, decoded: the next read of one decodes the lessons that differ."""

from collections import OrderedDict
from typing import Final, NamedTuple

from fleet_memory.repositories.program_codec import (
    Entries,
    VersionedProgram,
    changed_entries,
    decoded_entries,
    pattern_key,
    program_in,
)
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Ref

MAX_DECODED: Final = 16  # programs; chosen: the agents of one server
MAX_DECODED_BYTES: Final = 4_000_000  # bytes of stored lessons and notes; decoded they take about three times as much


class _Decoded(NamedTuple):
    document: Document
    entries: Entries
    versioned: VersionedProgram
    size: int


class DecodedPrograms:
    """Decoded programs by the content of their documents, so that no answer is of an earlier state.

    An unchanged document is the same `VersionedProgram` again. In another, each lesson that is stored as before is the
    same `Pattern`, and each note the same `Note`: values that are derived from one are derived once.
    """

    def __init__(self, max_bytes: int = MAX_DECODED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._decoded: OrderedDict[Ref, _Decoded] = OrderedDict()

    def versioned(self, document: Document) -> VersionedProgram:
        """Return the program in a document. Raises the errors of `versioned_program`."""
        known = self._decoded.get(document.ref)
        if known is None or known.document != document:
            entries = decoded_entries(document, known.entries if known else Entries())
            size = sum(entry.stored_bytes for entry in (*entries.patterns.values(), *entries.notes.values()))
            known = _Decoded(document, entries, program_in(document, entries), size)
            self._decoded[document.ref] = known
        self._decoded.move_to_end(document.ref)
        self._drop_oldest()
        return known.versioned

    def know(self, ref: Ref, before: Program, after: Program) -> None:
        """Take up the lessons and notes that a commit writes: a later read finds them by their stored text."""
        known = self._decoded.get(ref)
        if known is not None:
            patterns = changed_entries(before.patterns, after.patterns).values()
            entries = Entries(
                {**known.entries.patterns, **{pattern_key(pattern.id): pattern for pattern in patterns}},
                {**known.entries.notes, **changed_entries(before.notes, after.notes)},
            )
            self._decoded[ref] = known._replace(entries=entries)

    def _drop_oldest(self) -> None:
        size = sum(one.size for one in self._decoded.values())
        while len(self._decoded) > MAX_DECODED or (size > self._max_bytes and len(self._decoded) > 1):
            _, oldest = self._decoded.popitem(last=False)
            size -= oldest.size
