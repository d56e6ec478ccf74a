"""A program's lessons as answers."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypedDict, TypeVar

from fleet_memory.rules.entries import entry_state
from fleet_memory.rules.lifecycle.admission import Admission, Near
from fleet_memory.rules.lifecycle.decay import age_days, is_stale, strength
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport, Reported
from fleet_memory.rules.lifecycle.rewriting import is_open_rewrite
from fleet_memory.rules.retrieval.ranking import Ranked
from fleet_memory.rules.text.differing import differs
from fleet_memory.rules.text.keys import is_key_of, pair_id, text_hash
from fleet_memory.rules.text.names import domain_hint
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.schemas.answers.common import ScoreTerms, ToJudge
from fleet_memory.schemas.answers.memory import (
    EntryStanding,
    EvictedPattern,
    PatternAnswer,
    ReinforceAnswer,
    RelatedPattern,
    StoreAnswer,
)
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Archived, Program, ProgramRecord
from fleet_memory.views.consolidation import MAX_OF_A_KIND, rewrite_to_judge

_T = TypeVar("_T")


class ScoreFields(TypedDict):
    """The fields of an answer that explain its rank."""

    score: float | None
    explain: ScoreTerms | None


def score_fields(match: Ranked, *, asked: bool, explain: bool) -> ScoreFields:
    """Return a match's score if there was a question, and its terms if they were asked for."""
    terms = match.terms
    return {
        "score": round(match.score, 3) if asked or explain else None,
        "explain": ScoreTerms(**terms._asdict()) if explain else None,
    }


def pattern_answer(
    pattern: Pattern,
    now: datetime,
    program: Program,
    keys: Collection[str],
    *,
    score: float | None = None,
    explain: ScoreTerms | None = None,
) -> PatternAnswer:
    """Return one of a program's lessons, lean unless `explain` has the terms of its score.

    A lean one has no dates, no defaults, and no field that another one of it implies. `keys` are
    those that agents have read; any other that has the words of another program's lesson is left
    out.
    """
    confidence, faded = round(pattern.confidence, 2), round(strength(pattern, now), 2)
    key = shown_key(pattern, keys)

    def stated(value: _T) -> _T | None:
        return value if explain else value or None

    return PatternAnswer(
        id=pattern.id,
        domain=pattern.domain,
        pattern=pattern.pattern,
        evidence=stated(pattern.evidence),
        confidence=confidence,
        strength=faded if explain or faded != confidence else None,
        stale=stated(is_stale(pattern, now, program.decay)),
        archived=pattern.id in program.paged or None,
        age_days=stated(int(age_days(pattern, now))),
        discovered_at=pattern.discovered_at if explain else None,
        last_reinforced=pattern.last_reinforced if explain else None,
        reinforcements=stated(pattern.confirmations),
        promoted_to_store=stated(pattern.promoted) if explain or key is None else None,
        knowledge_key=key,
        project_id=pattern.project_id,
        tags=pattern.tags or None,
        score=score,
        explain=explain,
    )


def has_foreign_key(pattern: Pattern) -> bool:
    """Whether a lesson's entry has a key with the words of another lesson, which may be
    unpublished.
    """
    key = pattern.knowledge_key
    return key is not None and not is_key_of(key, pattern.domain, pattern.pattern)


def shown_key(pattern: Pattern, keys: Collection[str]) -> str | None:
    """Return the key of a lesson's entry as its program may read it; `keys` are those that agents
    have read.
    """
    return (
        None
        if has_foreign_key(pattern) and pattern.knowledge_key not in keys
        else pattern.knowledge_key
    )


def evicted_answers(
    moved: Sequence[Pattern], archived: Iterable[ProgramRecord]
) -> tuple[tuple[EvictedPattern, ...], int | None]:
    """Return the lessons that the cap moved to the archive, then those on pages, 25 at most, and
    how many others.
    """
    gone = [line.pattern for line in archived if isinstance(line, Archived)]
    every = [*((pattern, True) for pattern in gone), *((pattern, None) for pattern in moved)]
    named = tuple(
        EvictedPattern(
            id=pattern.id, domain=pattern.domain, pattern=pattern.pattern, in_archive=in_archive
        )
        for pattern, in_archive in every[:MAX_OF_A_KIND]
    )
    return named, len(every) - len(named) or None


def store_answer(
    admission: Admission, similarity_engine: str | None, known_domains: Mapping[str, int]
) -> StoreAnswer:
    """Return the result of storing a lesson; `known_domains` counts the fleet's entries of each
    domain.
    """
    evicted, omitted = evicted_answers(admission.moved, admission.archived)
    return StoreAnswer(
        similarity_engine=similarity_engine,
        status=admission.status,
        program_id=admission.program.program_id,
        pattern_id=admission.pattern.id,
        duplicate_of=admission.duplicate.pattern.id if admission.duplicate else None,
        similarity=admission.duplicate.similarity if admission.duplicate else None,
        related=tuple(_related_answer(near, admission.pattern) for near in admission.related),
        evicted=evicted,
        omitted=omitted,
        domain_hint=better_known_domain(admission, known_domains),
        note=steering_note(admission.pattern),
        to_judge=rewrites_to_judge([admission.pattern]) or None,
        patterns_count=admission.program.patterns_count,
    )


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


def _related_answer(near: Near, stored: Pattern) -> RelatedPattern:
    lesson = near.pattern
    return RelatedPattern(
        id=lesson.id,
        domain=lesson.domain,
        pattern=lesson.pattern,
        similarity=near.similarity,
        differs=differs(lesson.pattern, stored.pattern),
    )


def rewrites_to_judge(patterns: Iterable[Pattern]) -> tuple[ToJudge, ...]:
    """Return the pairs that these lessons' author has to judge: each newest text, and the text that
    votes.
    """
    return tuple(
        rewrite_to_judge(lesson, pair_id(text_hash(lesson.rewrite.voting_text), lesson.words))
        for lesson in patterns
        if lesson.rewrite is not None and is_open_rewrite(lesson)
    )


def reinforce_answer(reported: Reported, report: OutcomeReport) -> ReinforceAnswer:
    """Return where a lesson of the program's own, or else an entry, stands after a word about
    it.
    """
    lesson, entry = reported.pattern, reported.entry
    if lesson is not None:
        evicted, omitted = evicted_answers(reported.moved, reported.archived)
        return ReinforceAnswer(
            pattern_id=lesson.id,
            confidence=round(lesson.confidence, 4),
            strength=round(strength(lesson, report.now), 4),
            reinforcements=lesson.confirmations,
            last_reinforced=lesson.last_reinforced,
            revived=reported.revived,
            knowledge=_entry_standing(entry, report.now) if entry else None,
            evicted=evicted or None,
            omitted=omitted,
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
    never = entry.published_at is None and entry.tier != "constitutional"
    return None if never else EntryStanding(key=entry.key, status=entry_state(entry, now))
