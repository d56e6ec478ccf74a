"""The result of a consolidation as answers."""

from fleet_memory.schemas.answers.consolidation import (
    LessonAnswer,
    PromotedAnswer,
    PromotedPattern,
    ReviewPair,
    UpdatedAnswer,
)
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.waiting import OpenPair


def promoted_answer(entry: Entry, explain: str) -> PromotedAnswer:
    """Return a new entry with the contributions that it came from."""
    value = entry.value
    return PromotedAnswer(
        key=entry.key,
        **value.statement,
        first_discovered=value.first_discovered,
        last_promoted=value.last_promoted,
        provenance=tuple(
            PromotedPattern(program_id=line.program_id, pattern_id=line.pattern_id, similarity=line.similarity)
            for line in entry.provenance
        ),
        explain=explain,
    )


def updated_answer(entry: Entry, explain: str) -> UpdatedAnswer:
    """Return an entry that gained a contributor."""
    value = entry.value
    return UpdatedAnswer(
        key=entry.key,
        contributors=value.contributors,
        evidence_count=value.evidence_count,
        confidence=value.confidence,
        explain=explain,
    )


def pair_answer(pair: OpenPair) -> ReviewPair:
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
