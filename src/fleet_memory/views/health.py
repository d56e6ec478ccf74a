"""A program's and a fleet's health as answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.health.fleet import (
    Look,
    by_verdict,
    contested_rows,
    counts,
    fleet_advice,
    forecast,
    judging_advice,
    knowledge_counts,
    rates,
    together,
    unwell,
)
from fleet_memory.rules.health.program import MAX_FADING, verdict
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.rules.retrieval.budget import Section, shared, size
from fleet_memory.schemas.answers.consolidation import ContestedAnswer
from fleet_memory.schemas.answers.health import FadingPattern, FleetHealthAnswer
from fleet_memory.schemas.health import JudgingCounts, ModelRun
from fleet_memory.schemas.knowledge import LedgerEvent, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import ArchiveCounts
from fleet_memory.views.consolidation import MAX_OF_A_KIND


class FleetReading(NamedTuple):
    """All that is read of a fleet for its health; `events` counts the lines of its ledger.

    `model_run` is the last run of the policy's model, None where it names none.
    """

    looks: Sequence[Look]
    left: ArchiveCounts
    snapshot: Snapshot
    events: Mapping[LedgerEvent, int]
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


def fleet_health_answer(reading: FleetReading, max_tokens: int, now: datetime) -> FleetHealthAnswer:
    """Return a fleet's health, and as many contested entries and programs that are not well as the budget allows."""
    looks, left, snapshot = reading.looks, reading.left, reading.snapshot
    seen, ill = together(looks), unwell(looks)
    shares, patterns, entries = rates(seen, left), counts(seen, left), knowledge_counts(snapshot.rows, now)
    fresh = freshness(seen.pending, reading.open_pairs, snapshot.consolidated_at, now)
    contested = [
        ContestedAnswer(key=row.key, pattern=row.pattern) for row in contested_rows(snapshot.rows, now)[:MAX_OF_A_KIND]
    ]
    frame = FleetHealthAnswer(
        judging=reading.judging,
        similarity_engine=reading.similarity_engine,
        verdict=verdict(seen),
        programs=len(looks),
        patterns=patterns,
        rates=shares,
        knowledge=entries,
        verdicts=by_verdict(looks),
        ledger={event: count for event, count in reading.events.items() if count},
        forecast=forecast(looks, snapshot.rows, now),
        advice=(*judging_advice(reading.judging), *fleet_advice(ill, shares, patterns, entries, fresh)),
        freshness=fresh,
        judge_model=reading.model_run,
        omitted=len(ill),
    )
    room = max_tokens * 4 - size(frame.wire())  # a token is 4 bytes
    sections = [Section([size(one.wire()) + 1 for one in items], 0.5) for items in (contested, ill)]
    named, fitting = shared(room, sections)
    return replace(frame, contested=tuple(contested[:named]), unwell=tuple(ill[:fitting]), omitted=len(ill) - fitting)
