"""Two copies of one program, from two stores, as one. Nothing is lost: a lesson or note that gives
way is archived.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.lifecycle import notes
from fleet_memory.rules.lifecycle.merging_lessons import (
    is_same_lesson,
    last_touched,
    merged_pattern,
)
from fleet_memory.rules.lifecycle.merging_states import Stating, merged_marks, merged_state
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import (
    Archived,
    ArchivedNote,
    ArchiveRecord,
    Note,
    Program,
    ProgramRecord,
)

WHY_REPLACED: Final = "an import brought another text of this id, and the other one stayed"


class Merging(NamedTuple):
    """How copies are merged: the program's archive in the store, the time, and which text of a
    divergent lesson stays.

    `overwrite`: the incoming one. `max_summaries` is how many a program's history has room for.
    """

    archive: Sequence[ArchiveRecord]
    now: datetime
    overwrite: bool
    max_summaries: int


class MergedProgram(NamedTuple):
    """The program, and the records of the lessons and notes that left it. The others are ids of
    lessons.

    `divergent`: both stores have another text. `left`: the store archived the lesson since it was
    in the other store.
    """

    program: Program
    records: tuple[ProgramRecord, ...] = ()
    divergent: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class _Lessons(NamedTuple):
    patterns: Mapping[str, Pattern]
    losers: Sequence[Pattern]
    divergent: tuple[str, ...]
    left: tuple[str, ...]


def merged_program(mine: Stating, theirs: Stating, merging: Merging) -> MergedProgram:
    """Return the store's program with the other's lessons, notes, state and marks; the same object
    if it has them.

    Where they are too many, `with_room` archives the weakest.
    """
    lessons = _with_lessons(mine.program, theirs.program, merging)
    if not mine.program.exists:
        moved = _moved_in(mine.program, theirs.program, lessons)
        moved = mine.program if moved == mine.program else moved
        return MergedProgram(moved, (*theirs.history,), (), lessons.left)
    state = merged_state(mine, theirs, merging.max_summaries)
    records = _Records(mine.program.program_id, merging)
    after = replace(merged_marks(state.program, theirs.program), patterns=lessons.patterns)
    after = _with_notes(after, theirs.program, records)
    for pattern in lessons.losers:
        records.add_lesson(pattern)
    if state.replaced:
        after = records.with_text(after, state.replaced)
    if after == mine.program and not records.records and not state.history:
        return MergedProgram(mine.program, (), lessons.divergent, lessons.left)
    archived = (*records.records, *state.history)
    return MergedProgram(after, archived, lessons.divergent, lessons.left)


def _moved_in(mine: Program, theirs: Program, lessons: "_Lessons") -> Program:
    """Return a program that stored nothing here as it was there, with the marks that belong to this
    store.
    """
    moved = replace(
        theirs,
        patterns=lessons.patterns,
        pending=mine.pending,
        run=mine.run,
        read_version=mine.read_version,
        commits=mine.commits,
        changes=mine.changes,
    )
    return merged_marks(moved, mine)


def with_other_keys(program: Program, keys: Mapping[str, str]) -> Program:
    """Return the program with the entries of its lessons and words under other keys; the same
    object without any.
    """
    if not any(pattern.knowledge_key in keys for pattern in program.patterns.values()) and not (
        program.against.keys() & keys.keys()
    ):
        return program
    renamed = _renaming(keys)
    return replace(
        program,
        patterns={
            id_: replace(pattern, knowledge_key=renamed(pattern.knowledge_key))
            if pattern.knowledge_key in keys
            else pattern
            for id_, pattern in program.patterns.items()
        },
        against={keys.get(key, key): at for key, at in program.against.items()},
    )


def _renaming(keys: Mapping[str, str]) -> Callable[[str | None], str | None]:
    return lambda key: keys.get(key, key) if key is not None else None


def _with_lessons(mine: Program, theirs: Program, merging: Merging) -> _Lessons:
    patterns, losers = dict(mine.patterns), list[Pattern]()
    divergent, left = list[str](), list[str]()
    for id_, pattern in theirs.patterns.items():
        own = patterns.get(id_)
        if own is None:
            if not merging.overwrite and _left_since(pattern, merging.archive):
                left.append(id_)
            else:
                patterns[id_] = pattern
        elif is_same_lesson(own, pattern):
            both = merged_pattern(own, pattern)
            patterns[id_] = own if both == own else both
        else:
            divergent.append(id_)
            losers.append(own if merging.overwrite else pattern)
            patterns[id_] = pattern if merging.overwrite else own
    return _Lessons(patterns, losers, tuple(divergent), tuple(left))


def _left_since(pattern: Pattern, archive: Sequence[ArchiveRecord]) -> bool:
    """Whether the store archived this very lesson after the copy was touched last."""
    touched = last_touched(pattern)
    return any(
        line.at >= touched
        and line.pattern.id == pattern.id
        and is_same_lesson(line.pattern, pattern)
        for line in archive
        if isinstance(line, Archived)
    )


def _with_notes(program: Program, theirs: Program, records: "_Records") -> Program:
    """Return the program with the other's notes; one with another text than that of its id has a
    new id here.
    """
    mine, made = program, max(program.notes_made, theirs.notes_made)
    by_text = {note.text: note for note in mine.notes.values()}
    for note in theirs.notes.values():
        known = by_text.get(note.text)
        if known is not None:
            both = replace(known, pinned=known.pinned or note.pinned, at=max(known.at, note.at))
            program = (
                program
                if both == known
                else replace(program, notes={**program.notes, known.id: both})
            )
        elif not records.has_left(note):
            is_taken = note.id in mine.notes or notes.was_made(mine, note.id)
            made += is_taken
            program = records.with_note(program, replace(note, id=f"n{made}") if is_taken else note)
    return replace(program, notes_made=max(program.notes_made, made))


class _Records:
    """The records of the lessons and notes that left a program, without those that its archive has
    already.
    """

    def __init__(self, program_id: str, merging: Merging) -> None:
        self.records: list[ProgramRecord] = []
        self._program_id = program_id
        self._merging = merging
        self._notes = [line for line in merging.archive if isinstance(line, ArchivedNote)]

    def add_lesson(self, pattern: Pattern) -> None:
        """Archive a lesson that gave way, unless it is there."""
        known = (line.pattern for line in self._merging.archive if isinstance(line, Archived))
        if any(other.id == pattern.id and is_same_lesson(other, pattern) for other in known):
            return
        self.records.append(
            Archived(
                program_id=self._program_id,
                pattern=pattern,
                reason="merged",
                at=self._merging.now,
                why=WHY_REPLACED,
            )
        )

    def has_left(self, note: Note) -> bool:
        """Whether the store archived a note of this text after it was written."""
        return any(line.at >= note.at and line.note.text == note.text for line in self._notes)

    def with_note(self, program: Program, note: Note) -> Program:
        """Return the program with a note; over the cap the oldest notes are archived, or else this
        one.
        """
        noted = notes.with_note(program, note, self._merging.now)
        if notes.notes_problem(noted) is None:
            self.records += noted.archived
            return noted.program
        self._add_note(note, "over the cap of notes, all others are pinned")
        return program

    def with_text(self, program: Program, text: str) -> Program:
        """Archive values of the state that gave way, as a note, unless they are there."""
        if any(line.note.text == text for line in self._notes):
            return program
        made = program.notes_made + 1
        self._add_note(
            Note(id=f"n{made}", text=text, at=self._merging.now), "an import had later values"
        )
        return replace(program, notes_made=made)

    def _add_note(self, note: Note, why: str) -> None:
        now = self._merging.now
        self.records.append(
            ArchivedNote(program_id=self._program_id, note=note, reason="merged", at=now, why=why)
        )
