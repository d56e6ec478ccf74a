"""A program's lessons as answers."""

from datetime import datetime
from typing import TypedDict

from fleet_memory.rules.knowledge.status import standing
from fleet_memory.rules.lifecycle.admission import Admission
from fleet_memory.rules.lifecycle.decay import age_days, is_stale, strength
from fleet_memory.rules.lifecycle.reports import Applied, OutcomeReport
from fleet_memory.rules.retrieval.ranking import Match
from fleet_memory.schemas.answers.common import ScoreTerms
from fleet_memory.schemas.answers.memory import (
    EvictedPattern,
    PatternAnswer,
    ReinforceAnswer,
    RelatedPattern,
    StoreAnswer,
)
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program


class ScoreFields(TypedDict):
    """The fields of an answer that explain its rank."""

    score: float | None
    explain: ScoreTerms | None


def score_fields(match: Match[Pattern | KnowledgeRow], *, asked: bool, explain: bool) -> ScoreFields:
    """Return a match's score if there was a question, and its terms if they were asked for."""
    terms = match.terms
    return {
        "score": match.score if asked or explain else None,
        "explain": ScoreTerms(semantic=terms.semantic, words=terms.words, strength=terms.strength) if explain else None,
    }


def pattern_answer(
    pattern: Pattern,
    now: datetime,
    program: Program,
    *,
    score: float | None = None,
    explain: ScoreTerms | None = None,
) -> PatternAnswer:
    """Return one of a program's lessons with its strength and age."""
    return PatternAnswer(
        id=pattern.id,
        domain=pattern.domain,
        pattern=pattern.pattern,
        evidence=pattern.evidence,
        confidence=round(pattern.confidence, 4),
        strength=round(strength(pattern, now), 4),
        stale=is_stale(pattern, now, program.decay),
        age_days=round(age_days(pattern, now), 1),
        discovered_at=pattern.discovered_at,
        last_reinforced=pattern.last_reinforced,
        reinforcements=pattern.confirmations,
        promoted_to_store=pattern.promoted,
        knowledge_key=pattern.knowledge_key,
        project_id=pattern.project_id,
        tags=pattern.tags or None,
        score=score,
        explain=explain,
    )


def evicted_answer(pattern: Pattern) -> EvictedPattern:
    """Return a lesson that the cap moved to the archive."""
    return EvictedPattern(id=pattern.id, domain=pattern.domain, pattern=pattern.pattern)


def store_answer(done: Admission, similarity_engine: str | None) -> StoreAnswer:
    """Return the result of storing a lesson."""
    return StoreAnswer(
        similarity_engine=similarity_engine,
        status=done.status,
        program_id=done.program.program_id,
        pattern_id=done.pattern.id,
        duplicate_of=done.duplicate.pattern.id if done.duplicate else None,
        similarity=done.duplicate.similarity if done.duplicate else None,
        related=tuple(
            RelatedPattern(
                id=near.pattern.id, domain=near.pattern.domain, pattern=near.pattern.pattern, similarity=near.similarity
            )
            for near in done.related
        ),
        evicted=tuple(evicted_answer(gone.pattern) for gone in done.archived),
        patterns_count=len(done.program.patterns),
    )


def reinforced_pattern_answer(done: Applied, report: OutcomeReport) -> ReinforceAnswer:
    """Return where a lesson stands after a report."""
    pattern = done.pattern
    return ReinforceAnswer(
        pattern_id=pattern.id,
        confidence=round(pattern.confidence, 4),
        strength=round(strength(pattern, report.now), 4),
        reinforcements=pattern.confirmations,
        last_reinforced=pattern.last_reinforced,
        revived=done.revived,
    )


def reinforced_entry_answer(entry: Entry, report: OutcomeReport) -> ReinforceAnswer:
    """Return where an entry stands after a report."""
    return ReinforceAnswer(
        pattern_id=entry.key,
        confidence=entry.value.confidence,
        strength=entry.value.confidence,
        reinforcements=entry.confirmations,
        last_reinforced=entry.last_confirmed,
        revived=False,
        status=standing(entry, report.now),
    )
