"""Whether several agents work under one program's name: sessions whose lessons interleave in
time.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.schemas.patterns import Pattern

SESSIONS_WITHIN: Final = timedelta(
    days=7
)  # chosen: older ones prove little about the agents of today
MANY_SESSIONS: Final = (
    3  # sessions at once; chosen: two are also one agent that goes back to an earlier session
)
NAME_EACH: Final = (
    "Agents that share a name are one origin: start each client with a name of its own in "
    "FLEET_MEMORY_PROGRAM."
)


class SessionTime(NamedTuple):
    """When a lesson was stored, in seconds since 1970, and the number of its session within the
    program.
    """

    session: int
    at: float


class _Span(NamedTuple):
    """The time from a session's first lesson to its last."""

    first: float
    last: float


def sessions_at_once(patterns: Iterable[Pattern], now: datetime) -> int:
    """Return how many sessions of a program ran at one time at most, by the lessons stored in the
    last 7 days.

    A session goes from its first lesson to its last: where A, B, A and then B, C, B follow each
    other, two do at any time. 0 where none overlap. A lesson without a session counts for none.
    """
    return most_at_once(session_times(patterns, now), now)


def session_times(patterns: Iterable[Pattern], now: datetime) -> Sequence[SessionTime]:
    """Return the lessons that `most_at_once` counts, now or later."""
    numbers: dict[str, int] = {}
    return [
        SessionTime(numbers.setdefault(pattern.session_id, len(numbers)), pattern.stored_s)
        for pattern in patterns
        if pattern.session_id is not None and now - pattern.stored_at <= SESSIONS_WITHIN
    ]


def most_at_once(times: Iterable[SessionTime], now: datetime) -> int:
    """Return how many sessions ran at one time at most, by the lessons of the last 7 days; 0 where
    none overlap.
    """
    instant, within = now.timestamp(), SESSIONS_WITHIN.total_seconds()
    spans: dict[int, _Span] = {}
    for session, at in times:
        if 0 <= instant - at <= within:
            span = spans.get(session, _Span(at, at))
            spans[session] = _Span(min(span.first, at), max(span.last, at))
    most = max((_at_start_of(span, spans.values()) for span in spans.values()), default=0)
    return most if most > 1 else 0


def _at_start_of(span: _Span, spans: Iterable[_Span]) -> int:
    """Return how many run when a session has begun, it included; the most run when one of them has
    just begun.
    """
    if span.first == span.last:  # one lesson, at that very moment
        return 1 + sum(other.first < span.first < other.last for other in spans)
    return sum(other.first <= span.first < other.last for other in spans)


def sessions_advice(sessions: int) -> tuple[str, ...]:
    """Return the line for a program about its sessions at once, from 3 on."""
    if sessions < MANY_SESSIONS:
        return ()
    return (f"{sessions} sessions of yours stored lessons at the same time. {NAME_EACH}",)
