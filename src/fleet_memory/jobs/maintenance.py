"""Maintenance of a fleet: what faded goes to the archive, what agrees becomes knowledge, boot reads what is true."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from fleet_memory.errors import ConflictError, FleetMemoryError, LeaseLostError
from fleet_memory.fleet import Fleet, Progress, no_progress
from fleet_memory.jobs.consolidation import ConsolidationReport
from fleet_memory.jobs.consolidation.runs import DEFAULT_THRESHOLD, consolidate, rehearse_consolidation
from fleet_memory.jobs.consolidation.scene import RunScope
from fleet_memory.jobs.fenced_writer import MAINTENANCE_LEASE, FencedWriter, leased
from fleet_memory.jobs.sweep import (
    ArchivedLesson,
    LastMaintenance,
    Sweep,
    last_maintenance,
    record_maintenance,
    refresh_snapshot,
)
from fleet_memory.schemas.value import Value

MAINTENANCE_STEPS: Final = 5.0  # the sweep, and the four of a consolidation

_logger = logging.getLogger(__name__)


class Maintained(Value):
    """A run's result, step by step; of a dry run, what it would have been.

    `promoted` and `updated` are keys of entries. `waiting` counts the lessons that are in no entry, `renewed` the
    entries that boot did not read as they are; None unless that was looked at.
    """

    dry_run: bool
    archived: tuple[ArchivedLesson, ...] = ()
    promoted: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    echoes: int = 0
    waiting: int = 0
    renewed: int | None = None


async def maintain_if_due(fleet: Fleet, every_s: float) -> float:
    """Maintain the fleet unless some server did lately; return the seconds until it is due again."""
    try:
        wait_s = _due_in_s(await last_maintenance(fleet.knowledge), fleet.now(), every_s)
        if not wait_s:
            async with leased(fleet, MAINTENANCE_LEASE) as writer:
                if writer is not None:
                    await _maintain_quietly(fleet, writer, every_s)
    except (ConflictError, LeaseLostError) as busy:
        _logger.info("maintenance is left to another run: %s", busy)
    except FleetMemoryError as error:
        _logger.warning("maintenance failed and will be tried again: %s %s", error, error.operator_detail)
    except Exception:  # the outermost edge of this task: whatever it met, the tools go on
        _logger.exception("maintenance failed and will be tried again")
    else:
        return wait_s or every_s
    return every_s


async def _maintain_quietly(fleet: Fleet, writer: FencedWriter, every_s: float) -> None:
    """Maintain what is due; nothing when another server was faster."""
    last = await last_maintenance(fleet.knowledge)
    if _due_in_s(last, fleet.now(), every_s):
        return
    sweep = Sweep(fleet, writer, last)
    archived = await sweep.run(fleet.now())
    if await fleet.programs.any_dirty() or await fleet.knowledge.snapshots.behind():
        report = await _consolidate(fleet, no_progress, dry_run=False)
        _logger.info("maintenance: %s", _maintained(archived, report, dry_run=False).compact())
    await record_maintenance(fleet.knowledge, writer, sweep, fleet.now())


def _due_in_s(last: LastMaintenance, now: datetime, every_s: float) -> float:
    """Return the seconds until a run is due, 0 for now. A note from the future is none: some clock was wrong."""
    since_s = (now - last.at).total_seconds() if last.at else every_s
    return every_s - since_s if 0 <= since_s < every_s else 0.0


async def maintain_fleet(fleet: Fleet, progress: Progress, *, rebuild: bool = False) -> Maintained:
    """Maintain a fleet; `rebuild` compares what boot reads with every entry.

    Raises ConflictError when another run is under way, here or in another process, LeaseLostError when another has
    taken over.
    """
    async with leased(fleet, MAINTENANCE_LEASE) as writer:
        if writer is None:
            raise ConflictError("Another maintenance of this fleet is running; leave it to that one.")
        return await _run(fleet, writer, progress, rebuild=rebuild)


async def rehearse_maintenance(fleet: Fleet, progress: Progress, *, rebuild: bool = False) -> Maintained:
    """Return the result that `maintain_fleet` would have now; nothing is written."""
    return await _run(fleet, FencedWriter(fleet), progress, rebuild=rebuild)


async def _run(fleet: Fleet, writer: FencedWriter, progress: Progress, *, rebuild: bool) -> Maintained:
    await progress(0, MAINTENANCE_STEPS, "archiving what faded")
    sweep = Sweep(fleet, writer, await last_maintenance(fleet.knowledge))
    archived = await sweep.run(fleet.now())
    renewed = await refresh_snapshot(fleet, writer) if rebuild else None
    report = await _consolidate(fleet, progress, dry_run=writer.is_dry_run)
    await record_maintenance(fleet.knowledge, writer, sweep, fleet.now())
    return _maintained(archived, report, renewed, dry_run=writer.is_dry_run)


async def _consolidate(fleet: Fleet, progress: Progress, *, dry_run: bool) -> ConsolidationReport:
    async def beyond_the_sweep(done: float, _total: float, message: str) -> None:
        await progress(done + 1, MAINTENANCE_STEPS, message)

    run = rehearse_consolidation if dry_run else consolidate
    return await run(fleet, RunScope(DEFAULT_THRESHOLD, fleet.now()), beyond_the_sweep)


def _maintained(
    archived: Sequence[ArchivedLesson], report: ConsolidationReport, renewed: int | None = None, *, dry_run: bool
) -> Maintained:
    return Maintained(
        dry_run=dry_run,
        archived=tuple(archived),
        promoted=tuple(entry.key for entry, _ in report.promoted),
        updated=tuple(report.updated),
        echoes=report.echoes,
        waiting=report.waiting,
        renewed=renewed,
    )
