"""A program's and a fleet's health as answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.health.fleet import (
    contested_rows,
    counts,
    curation_advice,
    fleet_advice,
    forecast,
    knowledge_counts,
    rates,
    relearnt_entries,
)
from fleet_memory.rules.health.missing import missing_advice
from fleet_memory.rules.health.program import GRAVITY, MAX_FADING, verdict
from fleet_memory.rules.health.sums import (
    age_advice,
    count_unwell,
    fading_from,
    fleet_sums,
    signs_of,
)
from fleet_memory.rules.health.waiting import people_advice, programs_advice
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.rules.retrieval.budget import Section, shared, size
from fleet_memory.schemas.answers.consolidation import ContestedAnswer
from fleet_memory.schemas.answers.health import FadingPattern, FleetHealthAnswer
from fleet_memory.schemas.health import (
    FleetSums,
    JudgingCounts,
    MissingQuestion,
    ModelRun,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import ChangeEvent, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import ArchiveCounts
from fleet_memory.views.consolidation import MAX_OF_A_KIND

MAX_MISSING_SHOWN: Final = (
    5  # questions that memory could not answer; chosen: somebody can answer so many
)


class FleetReading(NamedTuple):
    """All that is read of a fleet for its health; `events` counts the lines of its ledger.

    `sums` are those of its programs, None where it is too large to be read and no run has counted
    it; `is_live` if they were read now. `pending` and `programs` are counted now. `model_run` is
    the last run of the policy's model, None where it names none.
    """

    sums: FleetSums | None
    is_live: bool
    programs: int
    pending: int
    left: ArchiveCounts
    snapshot: Snapshot
    events: Mapping[ChangeEvent, int]
    open_pairs: int
    judging: JudgingCounts
    similarity_engine: str | None
    model_run: ModelRun | None = None


def fading_answer(soon: Sequence[tuple[float, Pattern]]) -> tuple[FadingPattern, ...]:
    """Return the first lessons that fade, with the days that each has left."""
    return tuple(
        FadingPattern(id=pattern.id, pattern=pattern.pattern, stale_in_days=round(days, 1))
        for days, pattern in soon[:MAX_FADING]
    )


def most_used_domains(patterns: Iterable[Pattern]) -> tuple[str, ...]:
    """Return the domains of lessons by name, the 25 with the most lessons where there are more."""
    used = Counter(pattern.domain for pattern in patterns)
    return tuple(sorted(sorted(used, key=lambda domain: (-used[domain], domain))[:MAX_OF_A_KIND]))


def omitted_counts(every: Mapping[str, int], shown: Mapping[str, int]) -> dict[str, int] | None:
    """Return how many items of each list are left out, from the lengths before and after; None
    where none are.
    """
    return {
        name: count - shown[name] for name, count in every.items() if count > shown[name]
    } or None


def judging_answer(judging: JudgingCounts) -> dict[str, int] | None:
    """Return the pairs that wait by whom they wait for; None for no pair."""
    return {name: count for name, count in asdict(judging).items() if count} or None


class HealthLists(NamedTuple):
    """The lists of a fleet's health, each with the most urgent first."""

    missing: Sequence[MissingQuestion]
    contested: Sequence[ContestedAnswer]
    relearnt: Sequence[RelearntEntry]
    unwell: Sequence[ProgramHealth]

    def lengths(self) -> dict[str, int]:
        """Return how many items each list has, by its name in the answer."""
        return {name: len(items) for name, items in self._asdict().items()}

    def first(self, missing: int, contested: int, relearnt: int, unwell: int) -> "HealthLists":
        """Return the first so many items of each list."""
        return HealthLists(
            self.missing[:missing],
            self.contested[:contested],
            self.relearnt[:relearnt],
            self.unwell[:unwell],
        )


def fleet_health_answer(reading: FleetReading, max_tokens: int, now: datetime) -> FleetHealthAnswer:
    """Return a fleet's health, and of each list as many items as the budget allows, 25 at most, 5
    questions.
    """
    sums, left, snapshot = reading.sums, reading.left, reading.snapshot
    if sums is None:
        sums, left = fleet_sums([], now), ArchiveCounts(junk=0, used=0)
    seen, ageing = signs_of(sums), knowledge_counts(snapshot.rows, now)
    lists = HealthLists(
        missing=sums.missing,
        contested=[
            ContestedAnswer(key=row.key, pattern=row.pattern)
            for row in contested_rows(snapshot.rows, now)
        ],
        relearnt=relearnt_entries(snapshot.rows),
        unwell=sums.unwell,
    )
    shares, patterns, ill = rates(seen, left), counts(seen, left), count_unwell(sums)
    fresh = freshness(reading.pending, reading.open_pairs, snapshot.consolidated_at, now)
    frame = FleetHealthAnswer(
        similarity_engine=reading.similarity_engine,
        as_of=None if reading.is_live else sums.at,
        verdict=verdict(seen),
        advice=(
            *age_advice(sums, now),
            *people_advice(reading.judging),
            *missing_advice(lists.missing),
            *programs_advice(reading.judging),
            *curation_advice(ageing.contested, lists.relearnt),
            *sums.names_advice,
            *fleet_advice(ill, shares, patterns, ageing, fresh),
        ),
        judging=judging_answer(reading.judging),
        programs=reading.programs,
        patterns=patterns,
        rates=shares,
        knowledge=ageing,
        verdicts={name: sums.verdicts[name] for name in GRAVITY if name in sums.verdicts},
        ledger={event: count for event, count in reading.events.items() if count} or None,
        forecast=forecast(fading_from(sums, now), snapshot.rows, now) or None,
        freshness=fresh,
        judge_model=reading.model_run,
    )
    known = _uncounted(frame) if reading.sums is None else frame
    return with_lists(known, lists, max_tokens, {"missing": sums.missing_count, "unwell": ill})


def _uncounted(frame: FleetHealthAnswer) -> FleetHealthAnswer:
    """Return the answer about a large fleet whose programs no run has counted: the rest, and the
    command to run.
    """
    line = (
        f"No run has counted the lessons of these {frame.programs:,} programs yet: run "
        "fleet-memory maintain."
    )
    return replace(
        frame,
        as_of=None,
        verdict=None,
        patterns=None,
        rates=None,
        verdicts=None,
        advice=(line, *frame.advice),
    )


def with_lists(
    frame: FleetHealthAnswer, lists: HealthLists, max_tokens: int, totals: Mapping[str, int] = {}
) -> FleetHealthAnswer:
    """Return the answer with as many items of each list as fit, each list having a quarter of the
    room for its own.

    `totals` counts the items of a list that has not all of them.
    """
    every = {**lists.lengths(), **totals}
    largest = replace(frame, missing=(), contested=(), relearnt=(), unwell=(), omitted=every)
    room = max_tokens * 4 - size(largest.wire())  # a token is 4 bytes
    most = lists.first(MAX_MISSING_SHOWN, MAX_OF_A_KIND, MAX_OF_A_KIND, MAX_OF_A_KIND)
    shown = lists.first(
        *shared(room, [Section([size(item.wire()) + 1 for item in items], 0.25) for items in most])
    )
    return replace(
        frame,
        missing=tuple(shown.missing) or None,
        contested=tuple(shown.contested) or None,
        relearnt=tuple(shown.relearnt) or None,
        unwell=tuple(shown.unwell) or None,
        omitted=omitted_counts(every, shown.lengths()),
    )
