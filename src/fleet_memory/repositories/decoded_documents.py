"""The documents with lessons that this process read last, decoded: the next read of one decodes
those that differ.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from fleet_memory.repositories.program_codec import (
    Entries,
    changed_entries,
    decoded_entries,
    pattern_key,
)
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Ref

MAX_DECODED: Final = 16  # programs; chosen: the agents of one server
MAX_DECODED_BYTES: Final = (
    4_000_000  # bytes of stored lessons and notes; decoded they take about three times as much
)

_T = TypeVar("_T")


class _Decoded(NamedTuple, Generic[_T]):
    document: Document
    entries: Entries
    value: _T
    size: int


class DecodedDocuments(Generic[_T]):
    """Decoded programs or pages by the content of their documents, so that no answer is of an
    earlier state.

    `value_in` returns the value of a document with its decoded entries. An unchanged document is
    the same value again. In another, each lesson that is stored as before is the same `Pattern`,
    and each note the same `Note`: values that are derived from one are derived once.
    """

    def __init__(
        self, value_in: Callable[[Document, Entries], _T], max_bytes: int = MAX_DECODED_BYTES
    ) -> None:
        self._value_in = value_in
        self._max_bytes = max_bytes
        self._decoded: OrderedDict[Ref, _Decoded[_T]] = OrderedDict()

    def value(self, document: Document) -> _T:
        """Return the value of a document. Raises the errors of `versioned_program`."""
        known = self._decoded.get(document.ref)
        if known is None or known.document != document:
            entries = decoded_entries(document, known.entries if known else Entries())
            size = sum(
                [
                    entry.stored_bytes
                    for entry in (*entries.patterns.values(), *entries.notes.values())
                ]
            )
            known = _Decoded(document, entries, self._value_in(document, entries), size)
            self._decoded[document.ref] = known
        self._decoded.move_to_end(document.ref)
        self._drop_oldest()
        return known.value

    def know(self, ref: Ref, before: Program, after: Program) -> None:
        """Take up the entries that a commit writes: a later read finds them by their stored
        text.
        """
        known = self._decoded.get(ref)
        if known is not None:
            patterns = changed_entries(before.patterns, after.patterns).values()
            paged = changed_entries(before.paged, after.paged).values()
            entries = Entries(
                {
                    **known.entries.patterns,
                    **{pattern_key(pattern.id): pattern for pattern in patterns},
                },
                {**known.entries.notes, **changed_entries(before.notes, after.notes)},
                {**known.entries.paged, **{pattern_key(lesson.id): lesson for lesson in paged}},
            )
            self._decoded[ref] = known._replace(entries=entries)

    def _drop_oldest(self) -> None:
        size = sum(decoded.size for decoded in self._decoded.values())
        while len(self._decoded) > MAX_DECODED or (
            size > self._max_bytes and len(self._decoded) > 1
        ):
            _, oldest = self._decoded.popitem(last=False)
            size -= oldest.size
