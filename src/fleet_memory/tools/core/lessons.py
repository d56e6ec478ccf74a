"""Store a lesson, and report how one did."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal, TypeAlias, TypeVar

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
from fleet_memory.schemas.patterns import NewPattern, Outcome, Pattern, StoreStatus
from fleet_memory.schemas.programs import Archived, ProgramRecord
from fleet_memory.schemas.value import Value
from fleet_memory.tools.shared import (
    MAX_OF_A_KIND,
    Degraded,
    EntryStanding,
    OwnProgram,
    RequestId,
)

LessonOrKey: TypeAlias = Annotated[
    Key, Field(description="A pattern id of yours, or a key of `knowledge` or `others`")
]
ConfidenceNow: TypeAlias = Annotated[Confidence | None, Field(description="How sure you are now")]
Seen: TypeAlias = Annotated[EvidenceText, Field(description="What you saw this time")]
HowItHeld: TypeAlias = Annotated[Outcome, Field(description="Whether it proved true or false")]


class PatternLine(Value):
    """A lesson of the program by its id."""

    id: str
    domain: str
    pattern: str


class Evicting(Value):
    """Fields of an answer: `evicted` names 25 of the lessons that left for the archive to make
    room, where no question finds them; `omitted` counts the others.
    """

    evicted: tuple[PatternLine, ...] | None = None
    omitted: int | None = None


_Evicting = TypeVar("_Evicting", bound=Evicting)


def with_evicted(answer: _Evicting, archived: Iterable[ProgramRecord]) -> _Evicting:
    """Return an answer that names the lessons among these records which left to make room."""
    gone = [it.pattern for it in archived if isinstance(it, Archived) and it.reason == "cap"]
    if not gone:
        return answer
    named = tuple(PatternLine.from_fields(lesson.wire()) for lesson in gone[:MAX_OF_A_KIND])
    return replace(answer, evicted=named, omitted=len(gone) - len(named) or None)


class RelatedPattern(PatternLine):
    """A pattern of the same program that is about something close. To replace it, store under its
    id.
    """

    similarity: float
    differs: Literal["figures", "negation"] | None = None


class StoreAnswer(Degraded, Evicting):
    """The outcome of storing a pattern.

    `domain_hint` is the name that the fleet, or else the program, uses for the same domain.
    """

    status: StoreStatus
    program_id: str
    pattern_id: str
    duplicate_of: str | None = None
    similarity: float | None = None
    related: tuple[RelatedPattern, ...] = ()
    evicted: tuple[PatternLine, ...] = ()
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
    if words := lesson_steering(lesson.pattern, lesson.evidence, lesson.domain):
        return f"It gives its judge orders ({words}): only people can make it knowledge."
    return None


def reinforce_answer(reported: Reported, now: datetime) -> ReinforceAnswer:
    """Return where a lesson of the program's own, or else an entry, stands after a word about
    it.
    """
    lesson, entry = reported.pattern, next(iter(reported.entries), None)
    if lesson is not None:
        id_, confidence, faded = lesson.id, lesson.confidence, strength(lesson, now)
        times, last_reinforced = lesson.confirmations, lesson.last_reinforced
    else:  # then an entry
        entry = reported.entries[0]
        id_, confidence, faded = entry.key, entry.value.confidence, entry.value.confidence
        times, last_reinforced = entry.confirmations, entry.last_confirmed
    standing = None  # of an entry that the fleet never published
    if entry is not None and entry.is_public:
        standing = EntryStanding(key=entry.key, status=entry_state(entry, now))
    answer = ReinforceAnswer(
        pattern_id=id_,
        confidence=round(confidence, 4),
        strength=round(faded, 4),
        reinforcements=times,
        last_reinforced=last_reinforced,
        revived=reported.revived,
        knowledge=standing,
        note=reported.note or None,
    )
    return with_evicted(answer, reported.archived)


def store_answer(fleet: Fleet, admission: Admission) -> StoreAnswer:
    """Return how a lesson was stored."""
    program, stored, duplicate = admission.program, admission.pattern, admission.duplicate
    known_domains, text = fleet.knowledge.snapshots.known_domains(), stored.pattern
    answer = StoreAnswer(
        similarity_engine=fleet.degraded_engine,
        status=admission.status,
        program_id=program.program_id,
        pattern_id=stored.id,
        duplicate_of=duplicate.pattern.id if duplicate else None,
        similarity=duplicate.similarity if duplicate else None,
        related=tuple(
            RelatedPattern.from_fields(
                near.pattern.wire()
                | {"similarity": near.similarity, "differs": differs(near.pattern.pattern, text)}
            )
            for near in admission.related
            if near.pattern.id in program.patterns
        ),
        domain_hint=better_known_domain(admission, known_domains),
        note=steering_note(stored),
        patterns_count=len(program.patterns),
    )
    return with_evicted(answer, admission.archived)


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
    return store_answer(fleet, admission)


async def reinforce_memory(
    fleet: Fleet,
    program_id: OwnProgram,
    pattern_id: LessonOrKey,
    confidence: ConfidenceNow = None,
    evidence: Seen = "",
    outcome: HowItHeld = "confirmed",
    request_id: RequestId = None,
) -> ReinforceAnswer:
    """When a lesson you relied on helped (confirmed) or proved wrong (contradicted): report it.

    Confirming keeps it from fading and revives a stale one; contradicting lowers its confidence.
    About a shared lesson or a knowledge key the word is for the whole fleet and counts only with
    evidence: enough independent contradictions retire the entry.
    """
    fleet.caller.require_write(program_id)
    now, source, session = fleet.now(), fleet.caller.source, fleet.session_of(program_id)
    report = OutcomeReport(outcome, confidence, evidence, now, request_id, session, source)
    reported = await record_word(fleet, program_id, pattern_id, report)
    return reinforce_answer(reported, now)
