"""The sums of a fleet: its numbers in one value that does not grow with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from fleet_memory.rules.health.fleet import (
    FADING_DAYS,
    Look,
    by_verdict,
    names_advice,
    together,
    unwell,
)
from fleet_memory.rules.health.known_looks import UNNAMED, KnownLook, look_at
from fleet_memory.rules.health.missing import commonest_questions
from fleet_memory.rules.health.program import Signs
from fleet_memory.schemas.health import FleetSums

MAX_NAMED_IN_SUMS: Final = 25  # programs and questions; chosen: an answer names no more
_DAY: Final = timedelta(days=1)
_MAX_AGE: Final = timedelta(days=2)  # chosen: a fleet that is in use is counted every day


def fleet_sums(looks: Sequence[Look], now: datetime, at: datetime | None = None) -> FleetSums:
    """Return the sums of looks that were taken now; the days of `fading` begin at `at`, which is
    now or earlier.
    """
    begin = at or now
    fading = Counter(int(days + (now - begin) / _DAY) for look in looks for days in look.fading)
    signs = together(looks)
    questions = commonest_questions(look.missing for look in looks)
    return FleetSums(
        at=begin,
        programs=len(looks),
        signs=signs._asdict() | {"repeats": len(signs.repeats)},
        verdicts=by_verdict(looks),
        unwell=tuple(unwell(looks)[:MAX_NAMED_IN_SUMS]),
        fading=tuple(fading[day] for day in range(FADING_DAYS)),
        missing=tuple(questions[:MAX_NAMED_IN_SUMS]),
        missing_count=len(questions),
        names_advice=names_advice(looks),
    )


def next_sums(
    known: Mapping[str, KnownLook], before: FleetSums | None, now: datetime
) -> FleetSums | None:
    """Return the sums of a fleet's programs as of now; None while those before are of today and
    still hold.
    """
    looks = [look_at(name, look, now) for name, look in sorted(known.items())]
    if (
        before is not None
        and before.at.date() == now.date()
        and fleet_sums(looks, now, before.at) == before
    ):
        return None
    return fleet_sums(looks, now)


def signs_of(sums: FleetSums) -> Signs:
    """Return the numbers of all programs as if they were one; repeats are counted and not named."""
    counts = sums.signs
    return Signs._make(
        (UNNAMED,) * counts[name] if name == "repeats" else counts[name] for name in Signs._fields
    )


def count_unwell(sums: FleetSums) -> int:
    """Return how many programs are not healthy."""
    return sum(
        count for verdict, count in sums.verdicts.items() if verdict not in ("healthy", "empty")
    )


def age_advice(sums: FleetSums, now: datetime) -> tuple[str, ...]:
    """Return the line about sums that are old."""
    age = now - sums.at
    return (
        (f"Counted {age // _DAY} days ago: run fleet-memory maintain daily.",)
        if age > _MAX_AGE
        else ()
    )


def fading_from(sums: FleetSums, now: datetime) -> Sequence[int]:
    """Return how many lessons turn stale on each day from now on, by whole days since the sums;
    none once they end.
    """
    return sums.fading[max(0, (now - sums.at) // _DAY) :]
