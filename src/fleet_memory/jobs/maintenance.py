"""Maintenance of a fleet: what faded goes to the archive, what agrees becomes knowledge, boot reads what is true."""

import logging
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import anyio

from fleet_memory.clock import clock
from fleet_memory.errors import ConflictError, FleetMemoryError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.consolidation import leased
from fleet_memory.jobs.consolidation.promotions import Promotions
from fleet_memory.jobs.sweep import MAINTENANCE_LEASE, Faded, Last, Maintenance, last_maintenance
from fleet_memory.schemas.answers.consolidation import ConsolidateAnswer
from fleet_memory.schemas.value import Value
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import Settings
from fleet_memory.tools.pattern_consolidate import pattern_consolidate, silently

MAINTENANCE_STEPS: Final = 5.0  # the sweep, and the four of a consolidation
FIRST_AFTER_S: Final = 60.0  # seconds from the first tool call: a short session is not slowed down

_logger = logging.getLogger(__name__)


class ArchivedLesson(Value):
    """A lesson that faded into the archive."""

    program_id: str
    pattern_id: str
    domain: str
    pattern: str


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


async def once(settings: Settings, progress: Progress, *, dry_run: bool, rebuild: bool) -> Maintained:
    """Open the configured fleet and maintain it once; a dry run writes nothing. Raises what `maintained` raises."""
    lazy = LazyFleet(settings, clock(settings.now))
    try:
        fleet = await lazy.fleet()
        return await (rehearsed if dry_run else maintained)(fleet, progress, rebuild=rebuild)
    finally:
        await lazy.close()


@asynccontextmanager
async def kept_up(lazy: LazyFleet, every_s: float) -> AsyncIterator[None]:
    """Maintain a fleet in the background while inside, `every_s` seconds; 0 for never."""
    async with anyio.create_task_group() as tasks:
        if every_s:
            tasks.start_soon(_keep_up, lazy, every_s)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()


async def _keep_up(lazy: LazyFleet, every_s: float) -> None:
    fleet = await lazy.once_open()  # a client that calls no tool opens no store
    wait_s = min(FIRST_AFTER_S, every_s)
    while True:
        await anyio.sleep(_jittered(wait_s))
        wait_s = await maintained_if_due(fleet, every_s)


async def maintained_if_due(fleet: Fleet, every_s: float) -> float:
    """Maintain the fleet unless some server did lately; return the seconds until it is due again."""
    try:
        wait_s = _due_in_s(await last_maintenance(fleet.knowledge), fleet.now(), every_s)
        if not wait_s:
            async with leased(fleet.programs, fleet.knowledge, fleet.now, MAINTENANCE_LEASE) as hands:
                if hands is not None:
                    await _quietly(fleet, hands, every_s)
    except ConflictError as busy:
        _logger.info("maintenance is left to another run: %s", busy)
    except FleetMemoryError as error:
        _logger.warning("maintenance failed and will be tried again: %s %s", error, error.operator_detail)
    except Exception:  # the outermost edge of this task: whatever it met, the tools go on
        _logger.exception("maintenance failed and will be tried again")
    else:
        return wait_s or every_s
    return every_s


async def _quietly(fleet: Fleet, hands: Promotions, every_s: float) -> None:
    """Maintain what is due; nothing when another server was faster."""
    last = await last_maintenance(fleet.knowledge)
    if _due_in_s(last, fleet.now(), every_s):
        return
    maintenance = Maintenance(fleet.programs, fleet.knowledge, hands, last)
    faded = await maintenance.sweep(fleet.now())
    if await fleet.programs.any_dirty() or await fleet.knowledge.behind_snapshot():
        done = _told(faded, await _consolidated(fleet, silently, dry_run=False))
        _logger.info("maintenance: %s", done.compact())
    await maintenance.note(fleet.now())


def _due_in_s(last: Last, now: datetime, every_s: float) -> float:
    """Return the seconds until a run is due, 0 for now. A note from the future is none: some clock was wrong."""
    since_s = (now - last.at).total_seconds() if last.at else every_s
    return every_s - since_s if 0 <= since_s < every_s else 0.0


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(1.0, 1.2)  # noqa: S311 - spreads servers, guards no secret


async def maintained(fleet: Fleet, progress: Progress, *, rebuild: bool = False) -> Maintained:
    """Maintain a fleet; `rebuild` compares what boot reads with every entry.

    Raises ConflictError when another run is under way, here or in another process.
    """
    async with leased(fleet.programs, fleet.knowledge, fleet.now, MAINTENANCE_LEASE) as hands:
        if hands is None:
            raise ConflictError("Another maintenance of this fleet is running; leave it to that one.")
        await progress(0, MAINTENANCE_STEPS, "archiving what faded")
        last = await last_maintenance(fleet.knowledge)
        maintenance = Maintenance(fleet.programs, fleet.knowledge, hands, last)
        faded = await maintenance.sweep(fleet.now())
        renewed = await maintenance.refresh_snapshot() if rebuild else None
        consolidated = await _consolidated(fleet, progress, dry_run=False)
        await maintenance.note(fleet.now())
        return _told(faded, consolidated, renewed)


async def rehearsed(fleet: Fleet, progress: Progress, *, rebuild: bool = False) -> Maintained:
    """Return what `maintained` would do now; nothing is written."""
    hands = Promotions(fleet.programs, fleet.knowledge)
    maintenance = Maintenance(fleet.programs, fleet.knowledge, hands, await last_maintenance(fleet.knowledge))
    faded = await maintenance.sweep(fleet.now())
    renewed = await maintenance.refresh_snapshot() if rebuild else None
    return _told(faded, await _consolidated(fleet, progress, dry_run=True), renewed)


async def _consolidated(fleet: Fleet, progress: Progress, *, dry_run: bool) -> ConsolidateAnswer:
    async def beyond_the_sweep(done: float, _total: float, message: str) -> None:
        await progress(done + 1, MAINTENANCE_STEPS, message)

    return await pattern_consolidate(fleet, beyond_the_sweep, dry_run=dry_run)


def _told(faded: Sequence[Faded], consolidated: ConsolidateAnswer, renewed: int | None = None) -> Maintained:
    return Maintained(
        dry_run=consolidated.dry_run,
        archived=tuple(
            ArchivedLesson(program_id=one.program_id, pattern_id=one.pattern_id, domain=one.domain, pattern=one.pattern)
            for one in faded
        ),
        promoted=tuple(entry.key for entry in consolidated.promoted),
        updated=tuple(entry.key for entry in consolidated.updated),
        echoes=consolidated.echoes,
        waiting=consolidated.waiting,
        renewed=renewed,
    )
