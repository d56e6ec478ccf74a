"""How far shared knowledge is behind what agents stored."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from fleet_memory.schemas.knowledge import Freshness

STALE_FROM_PENDING: Final = 10  # patterns; Source: docs/consolidation.md, "Freshness", chosen


def freshness(pending: int, consolidated_at: datetime | None = None) -> Freshness:
    """Grade the fleet's knowledge by the patterns that consolidation has not considered yet."""
    if pending == 0:
        return Freshness(
            grade="up_to_date",
            is_stale=False,
            pending=0,
            consolidated_at=consolidated_at,
            reason="Every stored pattern has been considered.",
        )
    stale = pending >= STALE_FROM_PENDING
    return Freshness(
        grade="stale" if stale else "slightly_stale",
        is_stale=stale,
        pending=pending,
        consolidated_at=consolidated_at,
        reason=f"{pending} stored pattern{'s' if pending > 1 else ''} not consolidated yet: "
        + ("verify before relying on it, or call pattern_consolidate." if stale else "a little may be missing."),
    )


def own_freshness(pending: int) -> Freshness:
    """Say how much of a program's own memory waits for consolidation; its own patterns themselves are read live."""
    graded = freshness(pending)
    return replace(
        graded,
        reason="Own patterns are read live. "
        + (f"{pending} of them not consolidated yet." if pending else "All of them have been considered."),
    )
