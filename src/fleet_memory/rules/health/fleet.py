"""A whole fleet's memory as numbers, from one look at each program."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.rules.health.duplicates import Scale
from fleet_memory.rules.health.program import GRAVITY, Signs, signs, verdict
from fleet_memory.rules.knowledge.state import VERIFY_AFTER, row_state
from fleet_memory.rules.lifecycle.decay import stale_in_days
from fleet_memory.schemas.health import (
    FleetRates,
    Forecast,
    HealthVerdict,
    JudgingCounts,
    KnowledgeCounts,
    PatternCounts,
    ProgramHealth,
)
from fleet_memory.schemas.knowledge import Freshness, KnowledgeRow
from fleet_memory.schemas.programs import ArchiveCounts, Program

HORIZONS: Final = (7, 14, 21, 30)  # days of the forecast
JUNK_FROM: Final = 0.5  # share of all lessons ever stored; half of the work of storing was for nothing
MIN_PROGRAMS_OF_A_THIRD: Final = 3  # programs; in a smaller fleet every program has a lesson in a pair
JUNK_OF: Final = 20  # archived lessons; fewer say nothing


class Look(NamedTuple):
    """One program: its numbers, and in how many days each of its active lessons turns stale within the forecast."""

    program_id: str
    signs: Signs
    verdict: HealthVerdict
    fading: Sequence[float]


def looked_at(program: Program, scale: Scale, now: datetime) -> Look:
    """Return what a fleet's numbers need of one program."""
    seen = signs(program, scale, now)
    left = (stale_in_days(pattern, now, program.decay) for pattern in program.patterns.values())
    return Look(
        program_id=program.program_id,
        signs=seen,
        verdict=verdict(seen),
        fading=[days for days in left if 0 <= days <= HORIZONS[-1]],
    )


def together(looks: Iterable[Look]) -> Signs:
    """Return the numbers of all programs as if they were one."""
    every = [look.signs for look in looks]
    return Signs(
        total=sum(one.total for one in every),
        stale=sum(one.stale for one in every),
        promoted=sum(one.promoted for one in every),
        unpromoted=sum(one.unpromoted for one in every),
        cap=sum(one.cap for one in every),
        reinforced=sum(one.reinforced for one in every),
        learnt=sum(one.learnt for one in every),
        forgotten=sum(one.forgotten for one in every),
        pending=sum(one.pending for one in every),
        settled=sum(one.settled for one in every),
        echoes=sum(one.echoes for one in every),
        repeats=[repeat for one in every for repeat in one.repeats],
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
    found = Counter(row_state(row, now) for row in active)
    return KnowledgeCounts(
        fresh=found["fresh"],
        verify=found["verify"],
        contested=found["contested"],
        retired=sum(row.state == "retired" for row in rows),
        constitutional=sum(row.tier == "constitutional" for row in active),
    )


def judging_counts(
    *, open_pairs: int, without_side: int, for_people: int, for_third: int, programs: int, people_judge: bool
) -> JudgingCounts:
    """Return the pairs that wait by who is left to judge them, in a fleet of so many programs.

    `without_side`: the open ones among those for people and for a third program; the others among these are closed for
    now. `people_judge`: the policy leaves all pairs to people. In a fleet of two nobody is the third program.
    """
    if people_judge:
        return JudgingCounts(people=max(open_pairs, for_people))
    has_third = programs >= MIN_PROGRAMS_OF_A_THIRD
    return JudgingCounts(
        people=for_people if has_third else for_people + for_third,
        third=for_third if has_third else 0,
        programs=max(0, open_pairs - without_side),  # counted one after the other: a pair may change between
    )


def contested_rows(rows: Sequence[KnowledgeRow], now: datetime) -> list[KnowledgeRow]:
    """Return the contested entries of a snapshot, by key."""
    return [row for row in rows if row_state(row, now) == "contested"]


def forecast(looks: Sequence[Look], rows: Sequence[KnowledgeRow], now: datetime) -> tuple[Forecast, ...]:
    """Return what ages within 7, 14, 21 and 30 days; each horizon includes the one before."""
    fading = [days for look in looks for days in look.fading]
    verify = [
        (row.last_confirmed + VERIFY_AFTER - now) / timedelta(days=1) for row in rows if row_state(row, now) == "fresh"
    ]
    return tuple(
        Forecast(days=until, stale=sum(days < until for days in fading), verify=sum(days < until for days in verify))
        for until in HORIZONS
    )


def unwell(looks: Iterable[Look]) -> list[ProgramHealth]:
    """Return the programs that are not healthy, the gravest first; of a kind, the largest first."""
    found = [look for look in looks if look.verdict not in ("healthy", "empty")]
    found.sort(key=lambda look: (GRAVITY.index(look.verdict), -look.signs.total, look.program_id))
    return [
        ProgramHealth(program_id=look.program_id, verdict=look.verdict, total=look.signs.total, stale=look.signs.stale)
        for look in found
    ]


def judging_advice(judging: JudgingCounts) -> tuple[str, ...]:
    """Return what to do about the pairs that wait, first about those that nobody but people is left to judge."""
    lines = {
        f"{_pairs(judging.people)} for people: fleet-memory review": judging.people,
        f"{_pairs(judging.third)} for a third program: one without a lesson in them is asked by commit_session.": (
            judging.third
        ),
        f"{_pairs(judging.programs)} for the programs of their lessons, asked by gsp_bootstrap and commit_session; "
        "people answer any with fleet-memory review.": judging.programs,
    }
    return tuple(line for line, count in lines.items() if count)


def fleet_advice(
    ill: Sequence[ProgramHealth], rates: FleetRates, counts: PatternCounts, ageing: KnowledgeCounts, fresh: Freshness
) -> tuple[str, ...]:
    """Return what to do about lessons and entries, at most a line per kind of trouble."""
    return tuple(
        line
        for applies, line in (
            (
                bool(ageing.contested),
                f"{_entries(ageing.contested)} contested, see `contested`: have an agent that knows the matter call "
                "reinforce_memory with the key, confirmed or contradicted, with evidence.",
            ),
            (
                rates.junk >= JUNK_FROM and counts.archived >= JUNK_OF,
                f"{rates.junk:.0%} of all lessons were archived without ever having been of use. Have agents call "
                "recall_memory before store_memory, and store what generalises.",
            ),
            (
                bool(ill),
                f"{len(ill)} programs are not well. Call memory_health for each in `unwell`; its advice is for them.",
            ),
            (
                bool(ageing.verify),
                f"{ageing.verify} entries want checking. Have an agent that knows the matter call reinforce_memory "
                "with the key, confirmed or contradicted.",
            ),
            (fresh.is_stale, f"{fresh.pending} lessons wait. Call pattern_consolidate."),
        )
        if applies
    )


def by_verdict(looks: Iterable[Look]) -> Mapping[str, int]:
    """Return how many programs have each verdict, the gravest first, none left out but those nobody has."""
    found = Counter(look.verdict for look in looks)
    return {name: found[name] for name in GRAVITY if found[name]}


def _pairs(count: int) -> str:
    return "1 pair waits" if count == 1 else f"{count} pairs wait"


def _entries(count: int) -> str:
    return "1 entry is" if count == 1 else f"{count} entries are"


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
