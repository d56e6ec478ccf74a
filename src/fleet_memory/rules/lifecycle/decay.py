"""How lessons fade, computed on every read, and how a word restores or weakens them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from fleet_memory.rules.text.keys import normalised
from fleet_memory.rules.text.vectors import np
from fleet_memory.schemas.patterns import Evidence, Outcome, Pattern
from fleet_memory.schemas.programs import DecayConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLOCK_SKEW: Final = timedelta(
    minutes=5
)  # a client's clock may be this far ahead; Source: docs/architecture.md, chosen
HALF_LIFE_DAYS: Final = 30.0  # Source: docs/decay.md, chosen; the shape is Ebbinghaus 1885
MAX_DOUBLINGS: Final = (
    4  # each spaced reinforcement doubles the half-life; Source: Settles & Meeder 2016, bounded
)
_DAY: Final = timedelta(days=1)


def age_days(pattern: Pattern, now: datetime) -> float:
    """Return the days since the pattern was last reinforced, 0 for a clock behind."""
    return max(0.0, (now - pattern.last_reinforced) / _DAY)


def is_stale(pattern: Pattern, now: datetime, decay: DecayConfig) -> bool:
    """Whether the pattern went unreinforced for more than `maxAge` days; exactly that is not stale
    yet.
    """
    return now - pattern.last_reinforced > decay.max_age * _DAY


def living(patterns: Iterable[Pattern], now: datetime, decay: DecayConfig) -> list[Pattern]:
    """Return the patterns that are not stale."""
    return [pattern for pattern in patterns if not is_stale(pattern, now, decay)]


def is_prunable(pattern: Pattern, now: datetime, decay: DecayConfig) -> bool:
    """Whether the pattern has been stale for more than another `pruneAfter` days."""
    return now - pattern.last_reinforced > (decay.max_age + decay.prune_after) * _DAY


def stale_after(pattern: Pattern, decay: DecayConfig) -> float:
    """Return the instant after which the pattern is stale, in seconds since 1970."""
    return pattern.last_reinforced.timestamp() + decay.max_age * _DAY.total_seconds()


def stale_in_days(pattern: Pattern, now: datetime, decay: DecayConfig) -> float:
    """Return the days left until the pattern turns stale, negative once it is."""
    return decay.max_age - (now - pattern.last_reinforced) / _DAY


def half_life_days(pattern: Pattern) -> float:
    """Return the days in which the pattern's strength halves."""
    return HALF_LIFE_DAYS * float(2 ** min(pattern.doublings, MAX_DOUBLINGS))


def strength(pattern: Pattern, now: datetime) -> float:
    """Return 0..1: confidence x 0.5^(age / half-life). It ranks, and chooses the patterns that the
    cap moves out.
    """
    return float(pattern.confidence * 0.5 ** (age_days(pattern, now) / half_life_days(pattern)))


def strengths(patterns: Sequence[Pattern], now: datetime) -> NDArray[np.float64]:
    """Return the `strength` of each of n patterns."""
    return np.array([strength(pattern, now) for pattern in patterns], np.float64)


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
