"""The sides of a pair as they are when a verdict about it arrives."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from fleet_memory.rules.knowledge.entries import is_contributor
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program


@dataclass(frozen=True)
class VerdictDocuments:
    """The programs by id and the entries by key that a verdict reads, or those that it leaves."""

    programs: Mapping[str, Program]
    entries: Mapping[str, Entry]

    def with_program(self, program: Program) -> "VerdictDocuments":
        """Return the documents with this program."""
        return replace(self, programs={**self.programs, program.program_id: program})

    def with_entry(self, entry: Entry) -> "VerdictDocuments":
        """Return the documents with this entry."""
        return replace(self, entries={**self.entries, entry.key: entry})


class LessonSide(NamedTuple):
    """A side that is a lesson in no entry."""

    program_id: str
    pattern: Pattern


class EntrySide(NamedTuple):
    """A side that is the text of an entry."""

    key: str


class MemberSide(NamedTuple):
    """A side that contributes to an entry of another text; this very pair is about that
    contribution.

    The lesson itself may be gone, or have another text by now.
    """

    program_id: str
    pattern_id: str
    key: str


class ChangedSide(NamedTuple):
    """A side that is not as it was judged, and why, as a sentence for the judge."""

    why: str


ResolvedSide: TypeAlias = LessonSide | EntrySide | MemberSide | ChangedSide


def resolved(side: Side, documents: VerdictDocuments, pair_id: str) -> ResolvedSide:
    """Return a side of a pair as it is now."""
    if side.key is not None:
        entry = documents.entries.get(side.key)
        if entry is None or text_hash(entry.value.pattern) != text_hash(side.text):
            return ChangedSide(f"the entry {side.key!r} has another text now")
        return EntrySide(side.key)
    if member := _member(side, documents, pair_id):
        return member
    if entry := _entry_of_text(side, documents):
        return EntrySide(entry.key)
    return _lesson_side(side, documents)


def _member(side: Side, documents: VerdictDocuments, pair_id: str) -> MemberSide | None:
    """Return the contribution that a side of this pair stands for; a deleted program is not named
    by its side.
    """
    for entry in documents.entries.values():
        if text_hash(entry.value.pattern) == text_hash(side.text):
            continue
        for line in entry.provenance:
            is_named = side.program_id in ("", line.program_id)
            if line.pair == pair_id and line.pattern_id == side.pattern_id and is_named:
                return MemberSide(line.program_id, line.pattern_id, entry.key)
    return None


def _entry_of_text(side: Side, documents: VerdictDocuments) -> Entry | None:
    """Return the entry that took its text from a side's lesson, even if the lesson has changed or
    gone since.
    """
    words = text_hash(side.text)
    return next(
        (
            entry
            for entry in documents.entries.values()
            if text_hash(entry.value.pattern) == words
            and is_contributor(entry, side.program_id, side.pattern_id)
        ),
        None,
    )


def _lesson_side(side: Side, documents: VerdictDocuments) -> ResolvedSide:
    program = documents.programs.get(side.program_id)
    pattern = program.patterns.get(side.pattern_id) if program else None
    if pattern is None:
        return ChangedSide("one of the two lessons was withdrawn")
    if pattern.words != text_hash(side.text):
        return ChangedSide("one of the two lessons has another text now")
    entry = documents.entries.get(pattern.knowledge_key or "")
    if entry is None:
        return LessonSide(side.program_id, pattern)
    if text_hash(entry.value.pattern) == pattern.words:
        return EntrySide(entry.key)
    if pattern.echo and not is_contributor(entry, side.program_id, pattern.id):
        return MemberSide(side.program_id, pattern.id, entry.key)
    return ChangedSide(
        f"one of the two lessons is part of the entry {entry.key!r} now; compare with its text"
    )
