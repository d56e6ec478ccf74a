"""How lessons fade: staleness, strength and pruning, computed from timestamps on every read."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fleet_memory.schemas.patterns import Pattern, microseconds
from fleet_memory.schemas.programs import DecayConfig

HALF_LIFE_DAYS: Final = 30.0  # Source: docs/decay.md, chosen; the shape is Ebbinghaus 1885
MAX_DOUBLINGS: Final = 4  # each spaced reinforcement doubles the half-life; Source: Settles & Meeder 2016, bounded
_DAY: Final = timedelta(days=1)
_DAY_US: Final = _DAY / timedelta(microseconds=1)


def age_days(pattern: Pattern, now: datetime) -> float:
    """Return the days since the pattern was last reinforced, 0 for a clock behind."""
    return max(0.0, (now - pattern.last_reinforced) / _DAY)


def is_stale(pattern: Pattern, now: datetime, decay: DecayConfig) -> bool:
    """Whether the pattern went unreinforced for more than `maxAge` days; exactly that is not stale yet."""
    return now - pattern.last_reinforced > decay.max_age * _DAY


def living(patterns: Iterable[Pattern], now: datetime, decay: DecayConfig) -> list[Pattern]:
    """Return the patterns that are not stale."""
    oldest = microseconds(now - decay.max_age * _DAY)
    return [pattern for pattern in patterns if pattern.reinforced_us >= oldest]


def is_prunable(pattern: Pattern, now: datetime, decay: DecayConfig) -> bool:
    """Whether the pattern has been stale for more than another `pruneAfter` days."""
    return now - pattern.last_reinforced > (decay.max_age + decay.prune_after) * _DAY


def stale_after(pattern: Pattern, decay: DecayConfig) -> float:
    """Return the instant after which the pattern is stale, in seconds since 1970."""
    return (pattern.last_reinforced + decay.max_age * _DAY).timestamp()


def prunable_after(pattern: Pattern, decay: DecayConfig) -> float:
    """Return the instant after which the pattern is prunable, in seconds since 1970."""
    return pattern.last_reinforced.timestamp() + (decay.max_age + decay.prune_after) * _DAY.total_seconds()


def stale_in_days(pattern: Pattern, now: datetime, decay: DecayConfig) -> float:
    """Return the days left until the pattern turns stale, negative once it is."""
    return (pattern.last_reinforced + decay.max_age * _DAY - now) / _DAY


def half_life_days(pattern: Pattern) -> float:
    """Return the days in which the pattern's strength halves."""
    return HALF_LIFE_DAYS * float(2 ** min(pattern.doublings, MAX_DOUBLINGS))


def strength(pattern: Pattern, now: datetime) -> float:
    """Return 0..1: confidence x 0.5^(age / half-life). It ranks, and chooses the patterns that the cap evicts."""
    return float(pattern.confidence * 0.5 ** (age_days(pattern, now) / half_life_days(pattern)))


def strengths(patterns: Sequence[Pattern], now: datetime) -> NDArray[np.float64]:
    """Return the `strength` of each of n patterns."""
    count, instant = len(patterns), microseconds(now)
    age_us = np.fromiter((instant - pattern.reinforced_us for pattern in patterns), np.float64, count)
    doublings = np.fromiter((pattern.doublings for pattern in patterns), np.float64, count)
    confidence = np.fromiter((pattern.confidence for pattern in patterns), np.float64, count)
    half_lives = HALF_LIFE_DAYS * 2 ** np.minimum(doublings, MAX_DOUBLINGS)
    result: NDArray[np.float64] = confidence * 0.5 ** (np.maximum(0.0, age_us / _DAY_US) / half_lives)
    return result
