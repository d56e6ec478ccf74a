"""A program after a purge."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from fleet_memory.rules.erasing.targets import ERASED, Erasure, scrubbed, without_text
from fleet_memory.rules.lifecycle.paging import require_whole
from fleet_memory.rules.lifecycle.stamping import in_order
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

_T = TypeVar("_T")


def without_traces(program: Program, erasure: Erasure) -> Program:
    """Return a program that no longer knows of having been shown erased texts; the same object when
    it was not.

    These are hashes of the texts, and ids made of them.
    """
    shown = {words: at for words, at in program.shown.items() if words not in erasure.words}
    asked = {pair: times for pair, times in program.asked.items() if pair not in erasure.pairs}
    against = {
        erasure.key_after(key): at
        for key, at in program.against.items()
        if not _is_gone(key, erasure)
    }
    if (shown, asked, against) == (program.shown, program.asked, program.against):
        return program
    return replace(program, shown=shown, asked=asked, against=against)


def without_erased(program: Program, erasure: Erasure) -> Program:
    """Return a whole program without the lessons, notes, questions and texts that go; the same
    object for none.

    A lesson goes when its own text does; its evidence, labels and names are erased alone. Nothing
    goes to the archive. A lesson that leaves its entry is compared again. Raises PagesNeededError
    unless the program is whole.
    """
    require_whole(program)
    lessons = {
        id_: _lesson_after(program.program_id, pattern, erasure)
        for id_, pattern in program.patterns.items()
    }
    changed = {
        id_: lesson for id_, lesson in lessons.items() if lesson is not program.patterns[id_]
    }
    left = replace(
        program,
        notes={id_: note for id_, note in program.notes.items() if not erasure.erases(note.text)},
        missing=tuple(
            question for question in program.missing if not erasure.erases(question.text)
        ),
        request_ids=tuple(id_ for id_ in program.request_ids if not erasure.erases_name(id_)),
    )
    left = _with_state(left, erasure)
    pending = {id_ for id_ in program.pending if not _leaves(program, id_, erasure)}
    if not changed and left == program and len(pending) == len(program.pending):
        return program
    names = {id_: lesson.id for id_, lesson in lessons.items() if lesson is not None}
    freed = {
        lesson.id
        for id_, lesson in changed.items()
        if lesson and lesson.knowledge_key != program.patterns[id_].knowledge_key
    }
    patterns = {lesson.id: lesson for lesson in lessons.values() if lesson is not None}
    paged = {
        names[id_]: replace(lesson, id=names[id_]) if names[id_] != id_ else lesson
        for id_, lesson in program.paged.items()
        if id_ in names
    }
    return replace(
        left,
        patterns=patterns,
        paged=paged,
        pending=in_order({names.get(id_, id_) for id_ in pending} | freed, {**patterns, **paged}),
        changes=program.changes + 1,
    )


def _leaves(program: Program, pattern_id: str, erasure: Erasure) -> bool:
    """Whether a waiting id is of a lesson that goes, or went before, under a name that goes."""
    lesson = program.patterns.get(pattern_id)
    if lesson is not None:
        return erasure.is_lesson_text(program.program_id, pattern_id, lesson.pattern)
    return erasure.is_lesson(program.program_id, pattern_id) or erasure.erases_name(pattern_id)


def _lesson_after(program_id: str, lesson: Pattern, erasure: Erasure) -> Pattern | None:
    """Return a lesson without its erased parts: None if its text goes, the same object if nothing
    does.
    """
    if erasure.is_lesson_text(program_id, lesson.id, lesson.pattern):
        return None
    after = _in_entry_after(program_id, lesson, erasure)
    if not erasure.needle:
        return after
    new = replace(
        after,
        id=erasure.name_after(program_id, lesson.id),
        domain="erased" if erasure.erases_name(after.domain) else after.domain,
        evidence=scrubbed(after.evidence, erasure),
        evidence_log=tuple(
            replace(line, text=ERASED) if erasure.erases(line.text) else line
            for line in after.evidence_log
        ),
        tags=tuple(tag for tag in after.tags if not erasure.erases(tag)),
        project_id=_name_or_none(after.project_id, erasure),
        session_id=_name_or_none(after.session_id, erasure),
        calls={id_: call for id_, call in after.calls.items() if not erasure.erases_name(id_)},
    )
    return after if new == after else new


def _in_entry_after(program_id: str, lesson: Pattern, erasure: Erasure) -> Pattern:
    """Return a lesson under its entry's key after the purge, or in none; also if the text that it
    votes by goes.
    """
    renamed = erasure.entries.get(lesson.knowledge_key or "")
    if lesson.rewrite is not None and erasure.erases(lesson.rewrite.voting_text):
        return replace(lesson, knowledge_key=None, echo=False, rewrite=None)
    if renamed is None:
        return lesson
    if renamed.stays or renamed.keeper == (program_id, lesson.id):
        return (
            lesson
            if renamed.key == lesson.knowledge_key
            else replace(lesson, knowledge_key=renamed.key)
        )
    return replace(lesson, knowledge_key=None, echo=False, rewrite=None)


def _with_state(program: Program, erasure: Erasure) -> Program:
    """Return a program with "(erased)" in its handover, config and baselines; the same object when
    nothing goes.
    """
    after = replace(
        program,
        context_summary=_object(program.context_summary, erasure),
        config=_object(program.config, erasure),
        baselines=_object(program.baselines, erasure),
    )
    return program if after == program else replace(after, state_version=program.state_version + 1)


def _object(value: Mapping[str, _T], erasure: Erasure) -> Mapping[str, _T]:
    return cast("Mapping[str, _T]", without_text(value, erasure))


def _name_or_none(name: str | None, erasure: Erasure) -> str | None:
    return None if name is not None and erasure.erases_name(name) else name


def _is_gone(key: str, erasure: Erasure) -> bool:
    renamed = erasure.entries.get(key)
    return renamed is not None and not renamed.stays and renamed.keeper is None
