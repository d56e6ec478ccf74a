"""Storing and forgetting a lesson: its program, and the entries that it is in, in one commit."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.errors import EmbedderError, InvalidArgumentError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.drafting import Drafts, read_drafts
from fleet_memory.jobs.embedding import lesson_vectors
from fleet_memory.jobs.publishing import publish_changes
from fleet_memory.jobs.words import drafted_forgetting, drafted_store
from fleet_memory.repositories.retrying import new_lesson_id
from fleet_memory.rules.entries import EntryChange
from fleet_memory.rules.lifecycle.admission import (
    Admission,
    OnDuplicate,
    SentLesson,
    admitted,
    change_problem,
    changes_text,
    pattern_of,
)
from fleet_memory.rules.lifecycle.room import archived
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.keys import is_key_of, text_hash
from fleet_memory.rules.text.names import close_names
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.schemas.patterns import NewPattern, Pattern
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import Write

_logger = logging.getLogger(__name__)


class _Stored(NamedTuple):
    program: Program
    archived: tuple[Archived, ...]
    admission: Admission
    changes: tuple[EntryChange, ...] = ()


async def store_lesson(
    fleet: Fleet,
    program_id: str,
    lesson: SentLesson,
    on_duplicate: OnDuplicate,
    now: datetime,
    decided: LedgerLine | None = None,
) -> Admission:
    """Store a lesson; `decided` is the line of a person who gives it this text. Billed 1 read and
    1 write, and as much for an entry that it is in and reinforces or leaves; where it gets another
    text, also its program's pairs.

    Raises InvalidArgumentError for another text of a lesson in an entry or in an open pair, unless
    it says what that means.
    """

    async def change(program: Program) -> tuple[_Stored, Sequence[Write]]:
        profile, in_pairs = fleet.embedder.profile, await ids_in_pairs(fleet, program, [lesson])
        if problem := change_problem(program, lesson, in_pairs):
            raise InvalidArgumentError(problem)
        admission = admitted(
            program,
            lesson,
            profile=profile,
            on_duplicate=on_duplicate,
            in_pairs=in_pairs,
            now=now,
        )
        drafts = await read_drafts(fleet, _keys(program, admission), now)
        drafts = drafted_store(drafts, admission)
        line = None if admission.program is program else decided
        result = _Stored(admission.program, admission.archived, admission, drafts.news)
        return result, _writes(fleet, program_id, drafts, line)

    result = await fleet.programs.update_with(program_id, change, now)
    stored = result.admission._replace(program=result.program, archived=result.archived)
    _logger.info(
        "store: %s/%s %s; lessons %d, archived %d",
        program_id,
        stored.pattern.id,
        stored.status,
        len(stored.program.patterns),
        len(stored.archived),
    )
    if result.changes:
        await publish_changes(fleet, program_id, result.changes)
    return stored


async def embed_lessons(
    fleet: Fleet, sent: Sequence[NewPattern], session_id: str | None
) -> list[SentLesson]:
    """Return the caller's lessons of a session with their vectors, without when the engine does not
    answer.
    """
    if not sent:
        return []
    source, name = fleet.caller.source, fleet.embedder.name
    try:
        vectors = await lesson_vectors(
            fleet.embedder, [(lesson.pattern, lesson.domain, lesson.evidence) for lesson in sent]
        )
    except EmbedderError:
        # they matter more than vectors: the maintainer makes those later
        vectors, name = [LessonVectors()] * len(sent), ""
    return [
        SentLesson(lesson, new_lesson_id(), made, name, source, session_id)
        for lesson, made in zip(sent, vectors, strict=True)
    ]


async def ids_in_pairs(
    fleet: Fleet, program: Program, lessons: Iterable[SentLesson]
) -> frozenset[str]:
    """Return the ids of the lessons that would get another text and are in open pairs.

    Billed nothing unless one would that is in no entry: then the pairs that its program is asked
    about or was shown, at least 2 reads.
    """
    changing = [
        old
        for lesson in lessons
        if (old := changes_text(program, lesson)) is not None and not old.promoted
    ]
    if not changing:
        return frozenset()
    pairs = await fleet.pairs.asked_of(program.program_id)
    others = program.asked.keys() - {versioned.pair_id for versioned in pairs}
    pairs += await fleet.pairs.read(*sorted(others)) if others else []
    texts = {
        text_hash(side.text)
        for versioned in pairs
        if versioned.pair is not None and versioned.pair.state == "open"
        for side in (versioned.pair.a, versioned.pair.b)
        if side.key is None
    }
    return frozenset(old.id for old in changing if old.texts & texts)


def _keys(program: Program, admission: Admission) -> Sequence[str]:
    """Return the keys of the entries that a store may change; none for a repeated call."""
    if admission.program is program:
        return ()
    before = admission.changed.old.knowledge_keys if admission.changed else ()
    return (*before, *admission.pattern.knowledge_keys)


async def forget_lesson(
    fleet: Fleet, program_id: str, pattern_id: str, why: str, decided: LedgerLine | None = None
) -> Archived:
    """Move a lesson and its vote to the archive; `decided` is the line of a person who does it.
    Raises PatternNotFoundError. Billed as a store.
    """
    now = fleet.now()

    async def change(program: Program) -> tuple[ProgramChange, Sequence[Write]]:
        lesson = _existing(program, pattern_id)
        drafts = await read_drafts(fleet, lesson.knowledge_keys, now)
        drafts = drafted_forgetting(drafts, program_id, lesson)
        changes.append(drafts.news)
        left = archived(program, [lesson], "forgotten", now, why)
        return left, _writes(fleet, program_id, drafts, decided)

    changes: list[tuple[EntryChange, ...]] = []
    result = await fleet.programs.update_with(program_id, change, now)
    await publish_changes(fleet, program_id, changes[-1])
    (gone,) = (line for line in result.archived if line.reason == "forgotten")
    return gone


def _writes(
    fleet: Fleet, program_id: str, drafts: Drafts, decided: LedgerLine | None
) -> list[Write]:
    """Return the writes of drafts, in the ledger by the program, or by the person who decided."""
    if decided is None:
        return drafts.writes(fleet, program_id, fleet.caller.token_id)
    drafts = replace(drafts, why=dict.fromkeys(drafts.why, decided.why))
    writes = drafts.writes(fleet, decided.by, decided.token)
    return [*writes, fleet.knowledge.ledger.write(decided)]


def _existing(program: Program, pattern_id: str) -> Pattern:
    """Return a lesson. Raises PatternNotFoundError, with its id for the key of its own words."""
    pattern = pattern_of(program, pattern_id)
    if pattern is not None:
        return pattern
    own = [
        lesson.id
        for lesson in program.patterns.values()
        if lesson.knowledge_key == pattern_id
        and is_key_of(pattern_id, lesson.domain, lesson.pattern)
    ]
    raise PatternNotFoundError(
        program.program_id, pattern_id, own or close_names(pattern_id, program.patterns)
    )
