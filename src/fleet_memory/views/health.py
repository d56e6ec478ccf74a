"""A program's and a fleet's health as answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.health.fleet import (
    Look,
    by_verdict,
    counts,
    fleet_advice,
    forecast,
    knowledge_counts,
    rates,
    together,
    unwell,
)
from fleet_memory.rules.health.program import MAX_FADING, verdict
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.rules.retrieval.budget import count_fitting
from fleet_memory.schemas.answers.health import FadingPattern, FleetHealthAnswer
from fleet_memory.schemas.health import ModelRun
from fleet_memory.schemas.knowledge import LedgerEvent, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import ArchiveCounts


class FleetReading(NamedTuple):
    """All that is read of a fleet for its health; `events` counts the lines of its ledger.

    `model_run` is the last run of the policy's model, None where it names none.
    """

    looks: Sequence[Look]
    left: ArchiveCounts
    snapshot: Snapshot
    events: Mapping[LedgerEvent, int]
    open_pairs: int
    similarity_engine: str | None
    model_run: ModelRun | None = None


def fading_answer(soon: Sequence[tuple[float, Pattern]]) -> tuple[FadingPattern, ...]:
    """Return the first lessons that fade, with the days that each has left."""
    return tuple(
        FadingPattern(id=pattern.id, pattern=pattern.pattern, stale_in_days=round(days, 1))
        for days, pattern in soon[:MAX_FADING]
    )


def fleet_health_answer(reading: FleetReading, max_tokens: int, now: datetime) -> FleetHealthAnswer:
    """Return a fleet's health, and as many programs that are not well as the budget allows."""
    looks, left, snapshot = reading.looks, reading.left, reading.snapshot
    seen, ill = together(looks), unwell(looks)
    shares, patterns, entries = rates(seen, left), counts(seen, left), knowledge_counts(snapshot.rows, now)
    fresh = freshness(seen.pending, reading.open_pairs, snapshot.consolidated_at, now)
    frame = FleetHealthAnswer(
        similarity_engine=reading.similarity_engine,
        verdict=verdict(seen),
        programs=len(looks),
        patterns=patterns,
        rates=shares,
        knowledge=entries,
        verdicts=by_verdict(looks),
        ledger={event: count for event, count in reading.events.items() if count},
        forecast=forecast(looks, snapshot.rows, now),
        advice=fleet_advice(ill, shares, patterns, entries, fresh),
        freshness=fresh,
        judge_model=reading.model_run,
        omitted=len(ill),
    )
    fitting = count_fitting(frame.wire(), (program.wire() for program in ill), max_tokens)
    return replace(frame, unwell=tuple(ill[:fitting]), omitted=len(ill) - fitting)
