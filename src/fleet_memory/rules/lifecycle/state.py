"""State of a program beside its lessons: merge patches (RFC 7396), notes, unanswered questions."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import bare_words
from fleet_memory.schemas.fields import LooseValue
from fleet_memory.schemas.programs import (
    ArchivedNote,
    ArchiveReason,
    ArchiveRecord,
    DecayConfig,
    Missing,
    Note,
    PastSummary,
    Program,
    ProgramRecord,
)

MAX_STATE_BYTES: Final = 32_000  # bytes of JSON, of each part: a boot must be able to show it


class StatePatch(NamedTuple):
    """An update, each part as a merge patch: members with null are removed. An empty part changes
    nothing.
    """

    context_summary: Mapping[str, LooseValue] = {}
    config: Mapping[str, LooseValue] = {}
    baselines: Mapping[str, LooseValue] = {}
    decay: Mapping[str, LooseValue] = {}


class Stated(NamedTuple):
    """A program after an update, the records to archive or keep as history, and whether anything
    changed.
    """

    program: Program
    archived: tuple[ProgramRecord, ...] = ()
    updated: bool = False


def apply_patch(target: LooseValue, patch: LooseValue) -> LooseValue:
    """Return `target` after a JSON Merge Patch. Source: RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    return _patched(target if isinstance(target, dict) else {}, patch)


def _patched(
    target: Mapping[str, LooseValue], patch: Mapping[str, LooseValue]
) -> dict[str, LooseValue]:
    after = dict(target)
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = apply_patch(after.get(name), value)
    return after


def stated(program: Program, patch: StatePatch, now: datetime) -> Stated:
    """Return the program after an update. A new summary leaves a copy."""
    after = replace(
        program,
        context_summary=_patched(program.context_summary, patch.context_summary),
        config=_patched(program.config, patch.config),
        baselines=_patched(program.baselines, patch.baselines),
        decay=DecayConfig.from_fields(_patched(program.decay.wire(), patch.decay)),
    )
    if after == program:
        return Stated(program)
    after = replace(after, state_version=program.state_version + 1)
    if after.context_summary == program.context_summary:
        return Stated(after, updated=True)
    past = PastSummary(
        program_id=program.program_id,
        number=program.summaries,
        version=after.state_version,
        at=now,
        context_summary=after.context_summary,
    )
    after = replace(after, summaries=program.summaries + 1)
    return Stated(after, (past,), updated=True)


def too_large(program: Program) -> str | None:
    """Return which part of the state is larger than it may be, by how much, with advice; None when
    none is.
    """
    parts = program.context_summary, program.config, program.baselines
    for name, value in zip(("contextSummary", "config", "baselines"), parts, strict=True):
        if (bytes_ := size(value)) > MAX_STATE_BYTES:
            return (
                f"{name}: would be {bytes_} bytes of JSON, at most {MAX_STATE_BYTES}; shorten it, "
                "or remove members with null"
            )
    return None


MAX_NOTE_LINES: Final = 80  # of all notes of a program together


class Noted(NamedTuple):
    """A program after a note was added, edited or removed, and the notes and lessons that left it;
    `changed` if anything did.
    """

    program: Program
    note_id: str
    archived: tuple[ArchiveRecord, ...] = ()
    changed: bool = False

    @property
    def lines(self) -> int:
        """How many lines the program's notes have."""
        return sum(map(_lines, self.program.notes.values()))


def added(program: Program, text: str, now: datetime, *, pinned: bool) -> Noted:
    """Return the program with a note of this text; the one that it has, pinned if so asked."""
    known = next((note for note in program.notes.values() if note.text == text), None)
    if known is not None:
        return edited(program, known, now, pinned=pinned or None)
    return with_note(program, new_note(program, text, now, pinned=pinned), now)


def edited(
    program: Program,
    old: Note,
    now: datetime,
    *,
    text: str | None = None,
    pinned: bool | None = None,
) -> Noted:
    """Return the program after a change of a note; a part that is None stays."""
    note = old if text in (None, old.text) else replace(old, text=text, at=now)
    note = note if pinned in (None, note.pinned) else replace(note, pinned=pinned)
    return Noted(program, note.id) if note is old else with_note(program, note, now)


def with_note(program: Program, note: Note, now: datetime) -> Noted:
    """Add a note, or replace the one of its id; over the cap the oldest others are archived, pinned
    ones last.
    """
    others = [other for other in program.notes.values() if other.id != note.id]
    over = sum(map(_lines, (*others, note))) - MAX_NOTE_LINES
    gone: list[Note] = []
    for other in sorted(others, key=lambda other: other.pinned):
        if over > 0:
            gone.append(other)
            over -= _lines(other)
    in_order = sorted(
        [*(other for other in others if other not in gone), note],
        key=lambda note: (note.at, _number(note)),
    )
    notes = {note.id: note for note in in_order}
    after = replace(program, notes=notes, notes_made=max(program.notes_made, _number(note)))
    return Noted(
        after, note.id, tuple(_archived(program, other, "cap", now) for other in gone), changed=True
    )


def without_note(program: Program, note: Note, now: datetime) -> Noted:
    """Move a note to the archive."""
    left = {id_: other for id_, other in program.notes.items() if id_ != note.id}
    after = replace(program, notes=left)
    return Noted(after, note.id, (_archived(program, note, "forgotten", now),), changed=True)


def new_note(program: Program, text: str, now: datetime, *, pinned: bool) -> Note:
    """Return a note with an id that no note of the program ever had."""
    return Note(id=f"n{program.notes_made + 1}", text=text, pinned=pinned, at=now)


def was_made(program: Program, id_: str) -> bool:
    """Whether the program has or had a note of this id."""
    number = id_.removeprefix("n")
    return id_ == f"n{number}" and number.isdecimal() and 0 < int(number) <= program.notes_made


def _number(note: Note) -> int:
    return int(note.id.removeprefix("n"))


def _lines(note: Note) -> int:
    return note.text.count("\n") + 1


def _archived(program: Program, note: Note, reason: ArchiveReason, now: datetime) -> ArchivedNote:
    return ArchivedNote(program_id=program.program_id, note=note, reason=reason, at=now)


MAX_MISSING: Final = (
    32  # questions of one program; chosen, so that they take at most a twentieth of its document
)


def distinct_questions(questions: Iterable[str]) -> dict[str, str]:
    """Return the questions by their words, stripped: of those with equal words the last, e.g. "A"
    of "a", "A ".
    """
    return {bare_words(question): question.strip() for question in questions}


def with_missing(
    missing: tuple[Missing, ...], questions: Iterable[str], now: datetime
) -> tuple[Missing, ...]:
    """Return the questions with those that one session asked, the latest last.

    Questions of equal words are one, with the words that were sent last; one session counts it
    once.
    """
    asked = distinct_questions(questions)
    times = {bare_words(known.text): known.times for known in missing}
    others = [known for known in missing if bare_words(known.text) not in asked]
    new = [
        Missing(text=text, times=times.get(words, 0) + 1, at=now) for words, text in asked.items()
    ]
    return (*others, *new)[-MAX_MISSING:]
