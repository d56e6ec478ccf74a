"""The marks that a commit of a program leaves: its stamps, and the requests that it remembers."""

from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.schemas.patterns import Pattern, TokenWriter
from fleet_memory.schemas.programs import (
    Archived,
    ArchivedNote,
    Note,
    PastSummary,
    Program,
    ProgramRecord,
)

_Item = TypeVar("_Item", Pattern, Note)

MAX_REQUESTS: Final = 64  # remembered; the oldest are forgotten first


def with_request(requests: tuple[str, ...], request: str | None) -> tuple[str, ...]:
    """Return the requests with one more; the same ones for a call without a request id."""
    return (*requests, request)[-MAX_REQUESTS:] if request else requests


def result_of(requests: tuple[str, ...], name: str) -> str:
    """Return what the latest request of a name left, e.g. "n7" of "r1" among ("r1 n7",); "" for an
    unknown one.
    """
    known = [each for each in requests if each.startswith(f"{name} ")]
    return known[-1].removeprefix(f"{name} ") if known else ""


def with_read(program: Program, at: datetime | None) -> Program:
    """Return the program after it read the knowledge that was written at `at`, None for the empty
    one; the same object where it had read it.
    """
    if at is None or (program.read_last is not None and program.read_last >= at):
        return program
    return replace(program, read_first=program.read_first or at, read_last=at)


def with_writer(before: Program, after: Program, writer: TokenWriter) -> Program:
    """Return a changed program that names who changed it on each lesson and note that is new or
    otherwise, and on its state where that is.
    """

    def marked(old: Mapping[str, _Item], new: Mapping[str, _Item]) -> dict[str, _Item]:
        return {
            id_: item
            if (known := old.get(id_)) is item or known == item
            else replace(item, writer=writer)
            for id_, item in new.items()
        }

    is_stated = after.state_version != before.state_version
    return replace(
        after,
        patterns=marked(before.patterns, after.patterns),
        notes=marked(before.notes, after.notes),
        state_writer=writer if is_stated else after.state_writer,
    )


def record_with_writer(record: ProgramRecord, writer: TokenWriter) -> ProgramRecord:
    """Return what left a program with who took it out, or a summary with who wrote it."""
    match record:
        case Archived():
            return replace(record, pattern=replace(record.pattern, writer=writer))
        case ArchivedNote():
            return replace(record, note=replace(record.note, writer=writer))
        case PastSummary():
            return replace(record, writer=writer)


MAX_GONE: Final = (
    500  # pending ids of lessons that left; chosen, so that churn does not fill a memory
)


class ProgramChange(NamedTuple):
    """A program after a change, the same object when nothing changed, and the lessons that left it
    for the archive.
    """

    program: Program
    archived: tuple[Archived, ...] = ()


def stamped(before: Program, after: Program, now: datetime) -> Program:
    """Return `after` with the stamps of one commit; the same object when nothing changed.

    `changes` grows by one. `pending` gains the ids of lessons that are new or back, left, were
    revived, contradicted or released, or have another text, domain, project or entry; a reinforced
    lesson that was not stale needs no second look. `last_update` becomes `now` when an agent's
    lessons, notes, state or sessions changed, but not when it only read, nor for new vectors or for
    the entry that a lesson is in.
    """
    if after is before:
        return after
    old, new = before.patterns, after.patterns
    changed = [id_ for id_ in {**old, **new} if old.get(id_) is not new.get(id_)]
    looked_at = changed if before.decay == after.decay else {**old, **new}
    news = {
        id_
        for id_ in looked_at
        if (id_ in old) != (id_ in new)
        or _compared(old[id_]) != _compared(new[id_])
        or (is_stale(old[id_], now, before.decay) and not is_stale(new[id_], now, after.decay))
    }
    is_told = (before.notes, before.state_version, before.sessions) != (
        after.notes,
        after.state_version,
        after.sessions,
    ) or any(
        (id_ in old) != (id_ in new) or without_marks(old[id_]) != without_marks(new[id_])
        for id_ in changed
    )
    return replace(
        after,
        changes=before.changes + 1,
        pending=in_order({*before.pending, *after.pending, *news}, new),
        last_update=now if is_told else after.last_update,
    )


def _compared(lesson: Pattern) -> tuple[object, ...]:
    return (
        lesson.pattern,
        lesson.domain,
        lesson.project_id,
        lesson.knowledge_keys,
        lesson.stored_at,
        lesson.contradictions,
        lesson.allowed,
    )


def without_marks(pattern: Pattern) -> Pattern:
    """Return a lesson without the marks of judging, and without vectors, which another embedder may
    make again.
    """
    return replace(pattern, knowledge_keys=(), vector="", embedder="")


def in_order(pending: Set[str], lessons: Mapping[str, object]) -> tuple[str, ...]:
    """Return pending ids in the order of the lessons, by id, then those of lessons that left, by
    name, at most 500.
    """
    here = [id_ for id_ in lessons if id_ in pending]
    return (*here, *sorted(pending - lessons.keys())[-MAX_GONE:])
