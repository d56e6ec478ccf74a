"""How lessons fade: staleness, strength and pruning, computed from timestamps on every read."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig

HALF_LIFE_DAYS: Final = 30.0  # Source: docs/decay.md, chosen; the shape is Ebbinghaus 1885
MAX_DOUBLINGS: Final = (
    4  # each spaced reinforcement doubles the half-life; Source: Settles & Meeder 2016, bounded
)
_DAY_S: Final = 86_400.0
_HALF_MICROSECOND_S: Final = (
    5e-7  # a difference of two times as floats may be off by less, and none lies between
)


def _unreinforced_s(pattern: Pattern, now: datetime) -> float:
    return now.timestamp() - pattern.reinforced_s


def age_days(pattern: Pattern, now: datetime) -> float:
    """Return the days since the pattern was last reinforced, 0 for a clock behind."""
    return max(0.0, _unreinforced_s(pattern, now) / _DAY_S)


def is_stale(pattern: Pattern, now: datetime, decay: DecayConfig) -> bool:
    """Whether the pattern went unreinforced for more than `maxAge` days; exactly that is not stale
    yet.
    """
    return _unreinforced_s(pattern, now) > decay.max_age * _DAY_S + _HALF_MICROSECOND_S


def living(patterns: Iterable[Pattern], now: datetime, decay: DecayConfig) -> list[Pattern]:
    """Return the patterns that are not stale."""
    oldest_s = now.timestamp() - decay.max_age * _DAY_S - _HALF_MICROSECOND_S
    return [pattern for pattern in patterns if pattern.reinforced_s >= oldest_s]


def is_prunable(pattern: Pattern, now: datetime, decay: DecayConfig) -> bool:
    """Whether the pattern has been stale for more than another `pruneAfter` days."""
    return (
        _unreinforced_s(pattern, now)
        > (decay.max_age + decay.prune_after) * _DAY_S + _HALF_MICROSECOND_S
    )


def stale_after(pattern: Pattern, decay: DecayConfig) -> float:
    """Return the instant after which the pattern is stale, in seconds since 1970."""
    return pattern.reinforced_s + decay.max_age * _DAY_S


def prunable_after(pattern: Pattern, decay: DecayConfig) -> float:
    """Return the instant after which the pattern is prunable, in seconds since 1970."""
    return pattern.reinforced_s + (decay.max_age + decay.prune_after) * _DAY_S


def stale_in_days(pattern: Pattern, now: datetime, decay: DecayConfig) -> float:
    """Return the days left until the pattern turns stale, negative once it is."""
    return decay.max_age - _unreinforced_s(pattern, now) / _DAY_S


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
    reinforced_s = np.array([pattern.reinforced_s for pattern in patterns])
    doublings = np.array([pattern.doublings for pattern in patterns])
    confidence = np.array([pattern.confidence for pattern in patterns])
    ages = np.maximum(0.0, (now.timestamp() - reinforced_s) / _DAY_S)
    half_lives = HALF_LIFE_DAYS * 2.0 ** np.minimum(doublings, MAX_DOUBLINGS)
    result: NDArray[np.float64] = confidence * 0.5 ** (ages / half_lives)
    return result
