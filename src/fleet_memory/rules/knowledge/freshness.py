"""How far shared knowledge is behind the lessons that agents stored."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.knowledge import Freshness
from fleet_memory.schemas.programs import Program

STALE_FROM_PENDING: Final = 10  # lessons; Source: docs/consolidation.md, "Freshness", chosen
UNATTENDED_AFTER: Final = timedelta(
    days=1
)  # without a run while lessons wait; Source: docs/consolidation.md, chosen
NOBODY_PROPOSES: Final = "nobody proposes: run fleet-memory maintain daily"


def freshness(
    pending: int, to_judge: int, consolidated_at: datetime | None, now: datetime
) -> Freshness:
    """Grade the fleet's knowledge by the lessons that wait for the next run; `to_judge` counts open
    pairs.

    Lessons of an entry wait too, after the verdict that closed their pair: the run looks for their
    next pairs. The reason counts both: pairs wait although every lesson has been considered.
    """
    stale = pending >= STALE_FROM_PENDING
    advice = (
        "verify knowledge before you rely on it" if stale else "a little is missing here until then"
    )
    considered = (
        f"{_waiting(counted(pending, 'lesson'), pending)}: "
        f"{NOBODY_PROPOSES if _is_unattended(consolidated_at, now) else advice}"
        if pending
        else "All lessons are compared"
    )
    judged = (
        f"; {counted(to_judge, 'open pair waits', 'open pairs wait')} for a verdict"
        if to_judge
        else ""
    )
    return Freshness(
        grade="stale" if stale else "slightly_stale" if pending else "up_to_date",
        is_stale=stale,
        pending=pending,
        to_judge=to_judge,
        consolidated_at=consolidated_at,
        reason=f"{considered}{judged}.",
    )


def count_waiting(program: Program) -> int:
    """Return how many of a program's lessons no run has considered yet; `pending` names lessons
    that left too.
    """
    return len([id_ for id_ in program.pending if id_ in program.patterns or id_ in program.paged])


def own_freshness(pending: int, now: datetime) -> Freshness:
    """Return how much of a program's own memory waits for consolidation; its own lessons are read
    live.

    The open pairs of the fleet are not counted here.
    """
    return replace(
        freshness(pending, 0, now, now),
        to_judge=None,
        consolidated_at=None,
        reason="Own lessons are read live. "
        + (
            f"{_waiting(f'{pending} of them', pending)}."
            if pending
            else "All of them have been compared."
        ),
    )


def _waiting(lessons: str, count: int) -> str:
    return f"{lessons} {'waits' if count == 1 else 'wait'} for the next run"


def _is_unattended(consolidated_at: datetime | None, now: datetime) -> bool:
    return consolidated_at is not None and now - consolidated_at > UNATTENDED_AFTER
