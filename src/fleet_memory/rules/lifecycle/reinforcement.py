"""The effect of an outcome on a lesson: confirmed keeps it alive, contradicted lowers it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from fleet_memory.rules.lifecycle.decay import MAX_DOUBLINGS
from fleet_memory.rules.text.keys import normalised
from fleet_memory.schemas.patterns import Evidence, Outcome, Pattern

MAX_EVIDENCE_LINES: Final = (
    10  # lines; the newest remain, the first evidence has a field of its own
)
MAX_EVIDENCE_LOG_CHARS: Final = 4_000  # characters in all, so that 100 patterns stay one document
SPACED_AFTER: Final = timedelta(
    days=1
)  # at most one reinforcement a day counts; Source: docs/decay.md, chosen


def reinforced(
    pattern: Pattern, *, now: datetime, confidence: float | None = None, evidence: str = ""
) -> Pattern:
    """Return the pattern after it was seen true at `now`: a new clock, and a longer half-life when
    spaced.
    """
    spaced = now - (pattern.spaced_at or pattern.stored_at) >= SPACED_AFTER
    return replace(
        pattern,
        last_reinforced=max(pattern.last_reinforced, now),
        confidence=pattern.confidence if confidence is None else confidence,
        confirmations=pattern.confirmations + 1,
        doublings=min(MAX_DOUBLINGS, pattern.doublings + spaced),
        spaced_at=now if spaced else pattern.spaced_at,
        evidence_log=_logged(pattern, now, "confirmed", evidence),
    )


def seen_again(pattern: Pattern, *, now: datetime, confidence: float, evidence: str) -> Pattern:
    """Return the pattern after its words were stored again: new evidence goes to the log, or is the
    first it has.
    """
    fresh = "" if has_evidence(pattern, evidence) else evidence
    if pattern.evidence:
        return reinforced(pattern, now=now, confidence=confidence, evidence=fresh)
    return replace(reinforced(pattern, now=now, confidence=confidence), evidence=fresh)


def has_evidence(pattern: Pattern, evidence: str) -> bool:
    """Whether the pattern has this evidence in equal words already; every pattern has an empty one.

    One without evidence of its own has that of its log for words about it alone: copies are known
    by the first.
    """
    texts = (
        "",
        pattern.evidence,
        *(line.text for line in pattern.evidence_log if pattern.evidence),
    )
    return normalised(evidence) in map(normalised, texts)


def contradicted(
    pattern: Pattern, *, now: datetime, confidence: float | None = None, evidence: str = ""
) -> Pattern:
    """Return the pattern after it was seen false: never more confidence, half of it when none is
    given; same clock.
    """
    lowered = pattern.confidence / 2 if confidence is None else min(pattern.confidence, confidence)
    return replace(
        pattern,
        confidence=lowered,
        contradictions=pattern.contradictions + 1,
        evidence_log=_logged(pattern, now, "contradicted", evidence),
    )


def newest_evidence(lines: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the newest lines of a log, the last of `lines`, as many as a lesson has room for."""
    log = tuple(lines[-MAX_EVIDENCE_LINES:])
    while sum(len(line.text) for line in log) > MAX_EVIDENCE_LOG_CHARS:
        log = log[1:]
    return log


def _logged(
    pattern: Pattern, now: datetime, outcome: Outcome, evidence: str
) -> tuple[Evidence, ...]:
    return newest_evidence(
        [*pattern.evidence_log, Evidence(at=now, outcome=outcome, text=evidence)]
    )
