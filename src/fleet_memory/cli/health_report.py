"""How a program or a fleet does, in rows to show: what `fleet-memory health` prints."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from fleet_memory.schemas.answers.health import FleetHealthAnswer, FleetRates, KnowledgeCounts, PatternCounts
from fleet_memory.schemas.answers.memory import Freshness, HealthAnswer
from fleet_memory.server.in_process import Answer, called
from fleet_memory.settings import TOOLSETS, Settings


class Row(NamedTuple):
    """One line: `share` from 0 to 1 is drawn as a bar, None is not."""

    name: str
    value: str
    share: float | None = None


class Wellbeing(NamedTuple):
    """What to show of an answer."""

    title: str
    verdict: str
    rows: list[Row]
    advice: tuple[str, ...]


async def asked(settings: Settings) -> Answer:
    """Ask for the health of the program that the settings name, of the whole fleet when they name none."""
    offered = replace(settings, toolsets=TOOLSETS)
    if settings.program is None:
        return await called(offered, "fleet_health", {})
    return await called(offered, "memory_health", {"programId": settings.program})


def shown(answer: Answer, settings: Settings) -> Wellbeing:
    """Return the rows of an answer to `asked`."""
    if settings.program is None:
        fleet = FleetHealthAnswer.model_validate(answer.content)
        return Wellbeing(f"fleet {settings.fleet}", fleet.verdict, list(_fleet_rows(fleet)), fleet.advice)
    program = HealthAnswer.model_validate(answer.content)
    return Wellbeing(program.program_id, program.verdict, list(_program_rows(program)), program.advice)


def _program_rows(told: HealthAnswer) -> Iterator[Row]:
    cap = told.decay_config.max_unpromoted_patterns
    yield _part("active", told.active_patterns, told.total_patterns)
    yield _part("stale", told.stale_patterns, told.total_patterns)
    yield _part("promoted", told.promoted_patterns, told.total_patterns)
    yield _part("cap used", told.total_patterns - told.promoted_patterns, cap)
    for one in told.fading_soon:
        yield Row(f"fades in {one.stale_in_days:g} days", f"{one.id}: {one.pattern}")
    yield _behind(told.freshness)


def _fleet_rows(told: FleetHealthAnswer) -> Iterator[Row]:
    yield Row("programs", str(told.programs))
    for name, count in told.verdicts.items():
        yield _part(f"  {name}", count, told.programs)
    yield from _lesson_rows(told.patterns, told.rates)
    yield from _entry_rows(told.knowledge)
    if told.ledger:
        yield Row("ledger", ", ".join(f"{count} {event}" for event, count in told.ledger.items()))
    for ahead in told.forecast:
        yield Row(f"in {ahead.days} days", f"{ahead.stale} lessons stale, {ahead.verify} to verify")
    yield _behind(told.freshness)
    for one in told.unwell:
        yield Row(one.verdict, f"{one.program_id}: {one.stale} of {one.total} stale")
    if told.omitted:
        yield Row("and", f"{told.omitted} more programs")


def _lesson_rows(counts: PatternCounts, rates: FleetRates) -> Iterator[Row]:
    yield Row("lessons", f"{counts.total}, and {counts.archived} archived")
    yield _part("  active", counts.active, counts.total)
    yield _part("  stale", counts.stale, counts.total)
    yield _part("  promoted", counts.promoted, counts.total)
    yield _rate("  junk", rates.junk)
    yield _rate("  echoes", rates.echo)
    yield _rate("  duplicates", rates.duplicate)
    yield _rate("  never reinforced", rates.never_reinforced)


def _entry_rows(known: KnowledgeCounts) -> Iterator[Row]:
    entries = known.fresh + known.verify + known.contested + known.retired
    yield Row("entries", f"{entries}, {known.constitutional} of them constitutional")
    yield _part("  fresh", known.fresh, entries)
    yield _part("  verify", known.verify, entries)
    yield _part("  contested", known.contested, entries)
    yield _part("  retired", known.retired, entries)


def _rate(name: str, share: float) -> Row:
    return Row(name, f"{share:.0%}", share)


def _part(name: str, part: int, whole: int) -> Row:
    return Row(name, f"{part} of {whole}", min(1.0, part / whole) if whole else 0.0)


def _behind(fresh: Freshness) -> Row:
    return Row("waiting", f"{fresh.pending}. {fresh.reason}")
