"""Storing and forgetting a lesson: its program, and the entries that it is in, in one commit."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from fleet_memory.errors import EmbedderError, InvalidArgumentError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.drafting import Drafts, commit_drafts, read_drafts
from fleet_memory.repositories.retrying import new_lesson_id
from fleet_memory.rules.entries import with_word, without_support
from fleet_memory.rules.lifecycle.admission import (
    Admission,
    OnDuplicate,
    SentLesson,
    admitted,
    change_problem,
    changes_text,
)
from fleet_memory.rules.lifecycle.room import archived
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.keys import close_names, is_key_of, text_hash
from fleet_memory.rules.text.vectors import LessonVectors, Vectors, packed, search_vector
from fleet_memory.schemas.knowledge import Entry, LedgerLine, Word
from fleet_memory.schemas.patterns import NewPattern, Outcome, Pattern, context_text, search_mark
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.similarity import Embedder

CORRECTED = "its author corrected the lesson"
FORGOTTEN = "its program forgot the lesson"
TAKEN_BACK = "its author took a correction back"


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

    async def decide(program: Program) -> tuple[Admission, Drafts]:
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
        return admission, drafted_store(drafts, admission)

    return await commit_drafts(fleet, program_id, now, decide, decided)


async def lesson_vectors(
    embedder: Embedder, lessons: Sequence[tuple[str, str, str]]
) -> list[LessonVectors]:
    """Return the vectors of n lessons, each as (text, domain, evidence); of an engine without a
    share no search vector.

    Raises EmbedderError as the embedder does.
    """
    texts = [text for text, _, _ in lessons]
    contexts = [context_text(domain, evidence) for _, domain, evidence in lessons]
    asked = list(filter(None, contexts)) if embedder.profile.context_share else []
    rows = await embedder.vectors([*texts, *asked])
    share = embedder.profile.context_share  # of the engine that has answered
    met = dict(zip(asked, rows[len(texts) :], strict=True)) if share else {}

    def of_questions(text: str, row: Vectors, context: str) -> str:
        return search_vector(row, met[context], share, search_mark(embedder.name, text, context))

    return [
        LessonVectors(packed(row), of_questions(text, row, context) if context in met else "")
        for text, row, context in zip(texts, rows[: len(texts)], contexts, strict=True)
    ]


async def embed_lessons(
    fleet: Fleet, sent: Sequence[NewPattern], session_id: str | None
) -> list[SentLesson]:
    """Return the caller's lessons of a session with their vectors, without when the engine does not
    answer.
    """
    if not sent:
        return []
    source = fleet.caller.source
    try:
        vectors = await lesson_vectors(
            fleet.embedder, [(lesson.pattern, lesson.domain, lesson.evidence) for lesson in sent]
        )
    except EmbedderError:
        # they matter more than vectors: the maintainer makes those later
        vectors, name = [LessonVectors()] * len(sent), ""
    else:
        name = fleet.embedder.name  # not before: a stand-in may have made them
    stands_in = bool(fleet.embedder.degraded)
    return [
        SentLesson(lesson, new_lesson_id(), made, name, source, session_id, stands_in)
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


def drafted_store(drafts: Drafts, admission: Admission) -> Drafts:
    """Draft what a store says about the entries of its lesson.

    A text that its author calls `corrected` is its word against the entries of the old text; the
    old text again takes that back. Storing equal words again confirms them, and takes a
    contradiction back where it brings new evidence.
    """
    pattern, changed = admission.pattern, admission.changed
    if changed is None:
        return _confirmed(drafts, admission)
    keys = changed.old.knowledge_keys if changed.change == "corrected" else ()
    for key in dict.fromkeys((*keys, *pattern.knowledge_keys)):
        entry = drafts.entry(key)
        if entry is None or (key in keys) == (key in pattern.knowledge_keys):
            continue
        is_back = key not in keys
        word = _author_word(
            admission,
            "confirmed" if is_back else "contradicted",
            TAKEN_BACK if is_back else CORRECTED,
            drafts.now,
        )
        if is_back and not _contradicts(entry, word):
            continue
        drafts = drafts.with_entry(with_word(entry, word), word.evidence)
    return drafts


def drafted_forgetting(drafts: Drafts, program_id: str, lesson: Pattern) -> Drafts:
    """Draft the entries of a lesson that its program forgets: its contribution goes along, and what
    its program confirmed.
    """
    for key in lesson.knowledge_keys:
        entry = drafts.entry(key)
        if entry is not None:
            after = without_support(entry, program_id, lesson.id)
            drafts = drafts.with_entry(after, FORGOTTEN)
    return drafts


def _author_word(admission: Admission, outcome: Outcome, evidence: str, at: datetime) -> Word:
    """Return what a store says of the entries of its lesson."""
    pattern = admission.pattern
    return Word(
        program_id=admission.program.program_id,
        outcome=outcome,
        at=at,
        evidence=evidence,
        session_id=pattern.session_id,
        connection=pattern.source.connection,
        token=pattern.source.token,
    )


def _contradicts(entry: Entry, word: Word) -> bool:
    own = [each for each in entry.words if each.program_id == word.program_id]
    return bool(own) and own[-1].outcome == "contradicted"


def _confirmed(drafts: Drafts, admission: Admission) -> Drafts:
    """Return the drafts with the entries confirmed that a reinforced lesson is in."""
    pattern = admission.pattern
    seen = [line.text for line in pattern.evidence_log if line.at == drafts.now]
    word = _author_word(admission, "confirmed", seen[-1] if seen else "", drafts.now)
    for key in pattern.knowledge_keys:
        entry, at = drafts.entry(key), pattern.last_reinforced
        if entry is not None and word.evidence and _contradicts(entry, word):
            drafts = drafts.with_entry(with_word(entry, word), word.evidence)
        elif entry is not None and entry.retired_at is None and entry.last_confirmed < at:
            drafts = drafts.with_entry(replace(entry, last_confirmed=at), "stored again")
    return drafts


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

    async def decide(program: Program) -> tuple[ProgramChange, Drafts]:
        lesson = existing_lesson(program, pattern_id)
        drafts = await read_drafts(fleet, lesson.knowledge_keys, now)
        left = archived(program, [lesson], "forgotten", now, why)
        return left, drafted_forgetting(drafts, program_id, lesson)

    result = await commit_drafts(fleet, program_id, now, decide, decided)
    (gone,) = (line for line in result.archived if line.reason == "forgotten")
    return gone


def existing_lesson(program: Program, pattern_id: str) -> Pattern:
    """Return a lesson. Raises PatternNotFoundError, with its id for the key of its own words."""
    pattern = program.patterns.get(pattern_id)
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
