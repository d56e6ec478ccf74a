"""Patterns and entries as answers show them."""

from datetime import datetime

from fleet_memory.rules.knowledge.status import standing
from fleet_memory.rules.lifecycle.decay import age_days, is_stale, strength
from fleet_memory.schemas.answers.common import ScoreTerms
from fleet_memory.schemas.answers.consolidation import (
    LessonAnswer,
    PromotedAnswer,
    PromotedPattern,
    ReviewPair,
    UpdatedAnswer,
)
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.answers.state import DecayAnswer
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Program
from fleet_memory.schemas.waiting import OpenPair


def shown_pattern(
    pattern: Pattern,
    now: datetime,
    program: Program,
    *,
    score: float | None = None,
    explain: ScoreTerms | None = None,
) -> PatternAnswer:
    """Return one of a program's patterns with what time has done to it."""
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


def shown_knowledge(
    row: KnowledgeRow,
    now: datetime,
    *,
    contributors: bool = False,
    score: float | None = None,
    explain: ScoreTerms | None = None,
) -> KnowledgeAnswer:
    """Return an entry with its status at `now`; the contributors' ids only when asked for."""
    return KnowledgeAnswer(
        key=row.key,
        pattern=row.pattern,
        domain=row.domain,
        confidence=row.confidence,
        contributor_count=len(row.contributors),
        contributors=row.contributors if contributors else None,
        evidence_count=row.evidence_count,
        last_confirmed=row.last_confirmed,
        status=standing(row, now),
        score=score,
        explain=explain,
    )


def shown_promotion(entry: Entry, explain: str) -> PromotedAnswer:
    """Return a new entry with the contributions it came from."""
    value = entry.value
    return PromotedAnswer(
        key=entry.key,
        pattern=value.pattern,
        domain=value.domain,
        confidence=value.confidence,
        contributors=value.contributors,
        evidence_count=value.evidence_count,
        first_discovered=value.first_discovered,
        last_promoted=value.last_promoted,
        provenance=tuple(
            PromotedPattern(program_id=line.program_id, pattern_id=line.pattern_id, similarity=line.similarity)
            for line in entry.provenance
        ),
        explain=explain,
    )


def shown_update(entry: Entry, explain: str) -> UpdatedAnswer:
    """Return an entry that gained a contributor."""
    value = entry.value
    return UpdatedAnswer(
        key=entry.key,
        contributors=value.contributors,
        evidence_count=value.evidence_count,
        confidence=value.confidence,
        explain=explain,
    )


def shown_pair(pair: OpenPair) -> ReviewPair:
    """Return a pair to judge, with both texts."""
    return ReviewPair(
        pair_id=pair.pair_id,
        similarity=pair.similarity,
        contrast=pair.contrast,
        objection=pair.objection or None,
        a=LessonAnswer(program_id=pair.a_program, pattern_id=pair.a_id, domain=pair.a_domain, pattern=pair.a_text),
        b=LessonAnswer(program_id=pair.b_program, pattern_id=pair.b_id, domain=pair.b_domain, pattern=pair.b_text),
        explain=pair.explain,
    )


def shown_decay(decay: DecayConfig) -> DecayAnswer:
    """Return how a program forgets."""
    return DecayAnswer(
        max_age=decay.max_age,
        max_unpromoted_patterns=decay.max_unpromoted_patterns,
        prune_after=decay.prune_after,
    )
