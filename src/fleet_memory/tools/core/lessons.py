"""Store a lesson, and report how one did."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.storing import embed_lessons, store_lesson
from fleet_memory.jobs.words import record_word
from fleet_memory.rules.asking import differs
from fleet_memory.rules.entries import entry_state
from fleet_memory.rules.lifecycle.admission import (
    Admission,
    OnDuplicate,
    timestamp_problem,
)
from fleet_memory.rules.lifecycle.decay import strength
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport, Reported
from fleet_memory.rules.text.keys import domain_hint
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.schemas.fields import Confidence, EvidenceText, Key, Name, Timestamp
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import NewPattern, Outcome, Pattern, StoreStatus
from fleet_memory.schemas.programs import Archived, ProgramRecord
from fleet_memory.schemas.value import Value
from fleet_memory.tools.shared import (
    MAX_OF_A_KIND,
    Degraded,
    EntryStanding,
)


class EvictedPattern(Value):
    """A pattern that left for the archive to make room; no question finds it."""

    id: str
    domain: str
    pattern: str


class Evicted(TypedDict):
    """The fields of `Evicting`."""

    evicted: tuple[EvictedPattern, ...] | None
    omitted: int | None


class Evicting(Value):
    """Fields of an answer: `evicted` names 25 of the lessons that left to make room, `omitted`
    counts the others.
    """

    evicted: tuple[EvictedPattern, ...] | None = None
    omitted: int | None = None


def evicted_answers(archived: Iterable[ProgramRecord]) -> Evicted:
    """Return the lessons that left to make room, 25 at most, and how many others."""
    gone = [it.pattern for it in archived if isinstance(it, Archived) and it.reason == "cap"]
    named = tuple(
        EvictedPattern(id=lesson.id, domain=lesson.domain, pattern=lesson.pattern)
        for lesson in gone[:MAX_OF_A_KIND]
    )
    return {"evicted": named or None, "omitted": len(gone) - len(named) or None}


class RelatedPattern(Value):
    """A pattern of the same program that is about something close. To replace it, store under its
    id.
    """

    id: str
    domain: str
    pattern: str
    similarity: float
    differs: Literal["figures", "negation"] | None = None


class StoreAnswer(Degraded):
    """The outcome of storing a pattern.

    `domain_hint` is the name that the fleet, or else the program, uses for the same domain.
    `evicted` and `omitted` are those of `Evicting`.
    """

    status: StoreStatus
    program_id: str
    pattern_id: str
    duplicate_of: str | None = None
    similarity: float | None = None
    related: tuple[RelatedPattern, ...] = ()
    evicted: tuple[EvictedPattern, ...] = ()
    omitted: int | None = None
    domain_hint: str | None = None
    note: str | None = None
    patterns_count: int


class ReinforceAnswer(Evicting):
    """Where a pattern or an entry stands after an outcome; `note`: why a word did not count for the
    fleet.
    """

    pattern_id: str
    confidence: float
    strength: float
    reinforcements: int
    last_reinforced: Timestamp
    revived: bool
    knowledge: EntryStanding | None = None
    note: str | None = None


def better_known_domain(stored: Admission, known_domains: Mapping[str, int]) -> str | None:
    """Return the name that the fleet, or else the program, rather uses for a stored lesson's
    domain; None for none.
    """
    used = Counter([pattern.domain for pattern in stored.program.patterns.values()])
    own = stored.program.patterns.get(stored.pattern.id)
    others = used - Counter([own.domain]) if own else used
    return domain_hint(stored.pattern.domain, others, known_domains)


def steering_note(lesson: Pattern) -> str | None:
    """Return why agents cannot make a lesson knowledge; None where they can."""
    words = lesson_steering(lesson.pattern, lesson.evidence, lesson.domain)
    return (
        f"It gives its judge orders ({words}): only people can make it knowledge."
        if words
        else None
    )


def report_of(
    fleet: Fleet,
    outcome: Outcome,
    confidence: float | None,
    evidence: str,
    session_id: str | None,
    request_id: str | None = None,
) -> OutcomeReport:
    """Return a word of the caller, said now."""
    caller = fleet.caller
    return OutcomeReport(
        outcome=outcome,
        confidence=confidence,
        evidence=evidence,
        now=fleet.now(),
        request_id=request_id,
        session_id=session_id,
        connection=caller.connection,
        token=caller.token_id,
    )


def reinforce_answer(reported: Reported, report: OutcomeReport) -> ReinforceAnswer:
    """Return where a lesson of the program's own, or else an entry, stands after a word about
    it.
    """
    lesson, entry = reported.pattern, next(iter(reported.entries), None)
    if lesson is not None:
        return ReinforceAnswer(
            pattern_id=lesson.id,
            confidence=round(lesson.confidence, 4),
            strength=round(strength(lesson, report.now), 4),
            reinforcements=lesson.confirmations,
            last_reinforced=lesson.last_reinforced,
            revived=reported.revived,
            knowledge=_entry_standing(entry, report.now) if entry else None,
            **evicted_answers(reported.archived),
            note=reported.note or None,
        )
    if entry is None:
        raise ValueError("a word is about a lesson or an entry")
    return ReinforceAnswer(
        pattern_id=entry.key,
        confidence=entry.value.confidence,
        strength=entry.value.confidence,
        reinforcements=entry.confirmations,
        last_reinforced=entry.last_confirmed,
        revived=False,
        knowledge=_entry_standing(entry, report.now),
        note=reported.note or None,
    )


def _entry_standing(entry: Entry, now: datetime) -> EntryStanding | None:
    """Return an entry's state; None for one that the fleet never published."""
    if not entry.is_public:
        return None
    return EntryStanding(key=entry.key, status=entry_state(entry, now))


async def store_memory(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program, e.g. basher")],
    pattern: NewPattern,
    on_duplicate: Annotated[
        OnDuplicate, Field(description="What to do when you already know it")
    ] = "reinforce",
) -> StoreAnswer:
    """When your work taught you something: store what to do or avoid, and what you saw.

    The same words again reinforce it. The answer names your close lessons (`related`; to change
    the text of one, and only then, store under its id), those that left for the archive to make
    room (`evicted`), and a better-known name of the domain (`domainHint`).
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    if problem := timestamp_problem(pattern, now):
        raise InvalidArgumentError(problem)

    (lesson,) = await embed_lessons(fleet, [pattern], fleet.session_of(program_id))
    admission = await store_lesson(fleet, program_id, lesson, on_duplicate, now)
    stored, duplicate = admission.pattern, admission.duplicate
    gone = evicted_answers(admission.archived)
    return StoreAnswer(
        similarity_engine=fleet.degraded_engine,
        status=admission.status,
        program_id=program_id,
        pattern_id=stored.id,
        duplicate_of=duplicate.pattern.id if duplicate else None,
        similarity=duplicate.similarity if duplicate else None,
        related=tuple(
            RelatedPattern(
                id=near.pattern.id,
                domain=near.pattern.domain,
                pattern=near.pattern.pattern,
                similarity=near.similarity,
                differs=differs(near.pattern.pattern, stored.pattern),
            )
            for near in admission.related
            if near.pattern.id in admission.program.patterns
        ),
        evicted=gone["evicted"] or (),
        omitted=gone["omitted"],
        domain_hint=better_known_domain(admission, fleet.knowledge.snapshots.known_domains()),
        note=steering_note(stored),
        patterns_count=len(admission.program.patterns),
    )


async def reinforce_memory(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program")],
    pattern_id: Annotated[
        Key, Field(description="A pattern id of yours, or a key of `knowledge` or `others`")
    ],
    confidence: Annotated[Confidence | None, Field(description="How sure you are now")] = None,
    evidence: Annotated[EvidenceText, Field(description="What you saw this time")] = "",
    outcome: Annotated[Outcome, Field(description="Whether it proved true or false")] = "confirmed",
    request_id: Annotated[Name | None, Field(description="Makes a repeated call harmless")] = None,
) -> ReinforceAnswer:
    """When a lesson you relied on helped (confirmed) or proved wrong (contradicted): report it.

    Confirming keeps it from fading and revives a stale one; contradicting lowers its confidence.
    About a shared lesson or a knowledge key the word is for the whole fleet and counts only with
    evidence: enough independent contradictions retire the entry.
    """
    fleet.caller.require_write(program_id)
    session = fleet.session_of(program_id)
    report = report_of(fleet, outcome, confidence, evidence, session, request_id)
    reported = await record_word(fleet, program_id, pattern_id, report)
    return reinforce_answer(reported, report)
