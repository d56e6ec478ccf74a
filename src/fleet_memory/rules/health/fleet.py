"""A whole fleet's memory as numbers, from one look at each program."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.rules.health.duplicates import Scale
from fleet_memory.rules.health.program import GRAVITY, Signs, signs, verdict
from fleet_memory.rules.health.sessions import MANY_SESSIONS, NAME_EACH
from fleet_memory.rules.knowledge.state import VERIFY_AFTER, row_state
from fleet_memory.rules.lifecycle.decay import stale_in_days
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.health import (
    FleetRates,
    Forecast,
    HealthVerdict,
    KnowledgeCounts,
    PatternCounts,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import Freshness, KnowledgeRow
from fleet_memory.schemas.programs import ArchiveCounts, Missing, Program

HORIZONS: Final = (7, 14, 21, 30)  # days of the forecast
FADING_DAYS: Final = 60  # days that a look counts ahead: sums of the last 30 days have a forecast
JUNK_FROM: Final = 0.5  # share of all lessons ever stored; half of the work of storing was wasted
JUNK_OF: Final = 20  # archived lessons; fewer prove nothing


class Look(NamedTuple):
    """One program: its numbers, and in how many days each of its active lessons turns stale, up to
    60.

    `missing` are the questions that its memory could not answer.
    """

    program_id: str
    signs: Signs
    verdict: HealthVerdict
    fading: Sequence[float]
    missing: Sequence[Missing] = ()


def looked_at(program: Program, scale: Scale, now: datetime) -> Look:
    """Return one program's part of a fleet's numbers."""
    seen = signs(program, scale, now)
    left = (stale_in_days(pattern, now, program.decay) for pattern in program.active.values())
    return Look(
        program_id=program.program_id,
        signs=seen,
        verdict=verdict(seen),
        fading=[days for days in left if 0 <= days <= FADING_DAYS],
        missing=program.missing,
    )


def together(looks: Iterable[Look]) -> Signs:
    """Return the numbers of all programs as if they were one."""
    every = [look.signs for look in looks]
    return Signs(
        total=sum(signs.total for signs in every),
        stale=sum(signs.stale for signs in every),
        promoted=sum(signs.promoted for signs in every),
        unpromoted=sum(signs.unpromoted for signs in every),
        cap=sum(signs.cap for signs in every),
        reinforced=sum(signs.reinforced for signs in every),
        learnt=sum(signs.learnt for signs in every),
        forgotten=sum(signs.forgotten for signs in every),
        pending=sum(signs.pending for signs in every),
        settled=sum(signs.settled for signs in every),
        echoes=sum(signs.echoes for signs in every),
        repeats=[repeat for signs in every for repeat in signs.repeats],
        sessions=max((signs.sessions for signs in every), default=0),
    )


def counts(seen: Signs, left: ArchiveCounts) -> PatternCounts:
    """Return the lessons of a fleet by state."""
    return PatternCounts(
        total=seen.total,
        active=seen.total - seen.stale,
        stale=seen.stale,
        promoted=seen.promoted,
        archived=left.junk + left.used,
    )


def rates(seen: Signs, left: ArchiveCounts) -> FleetRates:
    """Return the shares that `FleetRates` defines."""
    return FleetRates(
        junk=_share(left.junk, seen.total + left.junk + left.used),
        echo=_share(seen.echoes, seen.settled),
        duplicate=_share(len(seen.repeats), seen.total - seen.stale),
        never_reinforced=_share(seen.total - seen.reinforced, seen.total),
    )


def knowledge_counts(rows: Sequence[KnowledgeRow], now: datetime) -> KnowledgeCounts:
    """Return the entries of a snapshot by status."""
    active = [row for row in rows if not row.is_hidden]
    counts = Counter(row_state(row, now) for row in active)
    return KnowledgeCounts(
        fresh=counts["fresh"],
        verify=counts["verify"],
        contested=counts["contested"],
        retired=sum(row.state == "retired" for row in rows),
        constitutional=sum(row.tier == "constitutional" for row in active),
    )


def contested_rows(rows: Sequence[KnowledgeRow], now: datetime) -> list[KnowledgeRow]:
    """Return the contested entries of a snapshot, by key."""
    return [row for row in rows if row_state(row, now) == "contested"]


def relearnt_entries(rows: Sequence[KnowledgeRow]) -> list[RelearntEntry]:
    """Return the relearnt entries of a snapshot, the most often relearnt first.

    An entry that was never published is left out.
    """
    relearnt = [row for row in rows if row.state == "retired" and row.is_known and row.relearnt]
    relearnt.sort(key=lambda row: (-row.relearnt, row.key))
    return [
        RelearntEntry(key=row.key, pattern=row.pattern, relearnt=row.relearnt) for row in relearnt
    ]


def forecast(
    fading: Sequence[int], rows: Sequence[KnowledgeRow], now: datetime
) -> tuple[Forecast, ...]:
    """Return how many age within 7, 14, 21 and 30 days; each horizon includes the one before, and
    adds to it.

    `fading` counts the lessons that turn stale on each day from now on, as far as they are known.
    """
    verify = [
        (row.last_confirmed + VERIFY_AFTER - now) / timedelta(days=1)
        for row in rows
        if row_state(row, now) == "fresh"
    ]
    forecasts: list[Forecast] = []
    before = Forecast(days=0, stale=0, verify=0)
    for until in HORIZONS:
        stale = sum(fading[:until]) if until <= len(fading) else None
        ageing = Forecast(days=until, stale=stale, verify=sum(days < until for days in verify))
        if (ageing.stale, ageing.verify) != (before.stale, before.verify):
            forecasts.append(before := ageing)
    return tuple(forecasts)


def unwell(looks: Iterable[Look]) -> list[ProgramHealth]:
    """Return the programs that are not healthy, the gravest first; of a kind, the largest first."""
    unhealthy = [look for look in looks if look.verdict not in ("healthy", "empty")]
    unhealthy.sort(
        key=lambda look: (GRAVITY.index(look.verdict), -look.signs.total, look.program_id)
    )
    return [
        ProgramHealth(
            program_id=look.program_id,
            verdict=look.verdict,
            total=look.signs.total,
            stale=look.signs.stale,
        )
        for look in unhealthy
    ]


def curation_advice(contested: int, relearnt: Sequence[RelearntEntry]) -> tuple[str, ...]:
    """Return advice about contested entries and about relearnt ones."""
    lines = []
    if contested:
        lines.append(
            f"{counted(contested, 'entry is', 'entries are')} contested: have an agent that "
            "knows the matter call "
            "reinforce_memory with the key and evidence, confirmed or contradicted; or "
            "fleet-memory retire KEY."
        )
    if relearnt:
        first, others = relearnt[0], len(relearnt) - 1
        more = f", and {counted(others, 'more entry', 'more entries')} so" if others else ""
        lines.append(
            f"{first.key} was retired and learnt again by "
            f"{counted(first.relearnt, 'lesson')}{more}: "
            "fleet-memory reinstate KEY, or leave it."
        )
    return tuple(lines)


def names_advice(looks: Iterable[Look]) -> tuple[str, ...]:
    """Return the line about programs with several sessions that stored lessons at the same time."""
    many = sorted(
        (-look.signs.sessions, look.program_id)
        for look in looks
        if look.signs.sessions >= MANY_SESSIONS
    )
    if not many:
        return ()
    sessions, name = many[0]
    others = (
        f"{counted(len(many), 'program has', 'programs have')} many sessions at once, e.g. "
        f"{name} ({-sessions})"
    )
    return (f"{others}. {NAME_EACH}",)


def fleet_advice(
    ill: int, rates: FleetRates, counts: PatternCounts, ageing: KnowledgeCounts, fresh: Freshness
) -> tuple[str, ...]:
    """Return advice about lessons, `ill` programs and entries to check, at most a line per kind of
    trouble.
    """
    return tuple(
        line
        for applies, line in (
            (
                rates.junk >= JUNK_FROM and counts.archived >= JUNK_OF,
                f"{rates.junk:.0%} of all lessons were archived without ever having been of "
                "use. Have agents call "
                "recall_memory before store_memory, and store what generalises.",
            ),
            (
                bool(ill),
                f"{counted(ill, 'program is', 'programs are')} not well. Call memory_health "
                "for each in `unwell`; "
                "its advice is for them.",
            ),
            (
                bool(ageing.verify),
                f"{counted(ageing.verify, 'entry needs', 'entries need')} a check: have an "
                "agent that knows "
                "the matter call reinforce_memory with the key.",
            ),
            (
                fresh.is_stale,
                f"{counted(fresh.pending, 'lesson waits', 'lessons wait')}. Call "
                "pattern_consolidate.",
            ),
        )
        if applies
    )


def by_verdict(looks: Iterable[Look]) -> Mapping[str, int]:
    """Return how many programs have each verdict, the gravest first; a verdict of no program is
    left out.
    """
    counts = Counter(look.verdict for look in looks)
    return {name: counts[name] for name in GRAVITY if counts[name]}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
