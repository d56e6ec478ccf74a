"""Maintenance of a fleet: what faded goes to the archive, what agrees becomes knowledge, boot reads what is true."""

from collections.abc import Sequence
from typing import Final

from fleet_memory.errors import ConflictError
from fleet_memory.schemas.answers import ConsolidateAnswer
from fleet_memory.schemas.programs import Archived
from fleet_memory.schemas.value import Value
from fleet_memory.server.clock import clock
from fleet_memory.server.opening import LazyFleet
from fleet_memory.settings import Settings
from fleet_memory.stores.consolidation import leased
from fleet_memory.stores.maintenance import LEASE, Maintenance
from fleet_memory.stores.promotions import Promotions
from fleet_memory.tools import Fleet, Progress
from fleet_memory.tools.pattern_consolidate import pattern_consolidate

STEPS: Final = 5.0  # the sweep, and the four of a consolidation


class ArchivedLesson(Value):
    """A lesson that faded into the archive."""

    program_id: str
    pattern_id: str
    domain: str
    pattern: str


class Maintained(Value):
    """A run's result, step by step; of a dry run, what it would have been.

    `promoted` and `updated` are keys of entries. `waiting` counts the lessons that are in no entry.
    """

    dry_run: bool
    archived: tuple[ArchivedLesson, ...] = ()
    promoted: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    echoes: int = 0
    waiting: int = 0


async def once(settings: Settings, progress: Progress, *, dry_run: bool) -> Maintained:
    """Open the configured fleet and maintain it once; a dry run writes nothing. Raises what `maintained` raises."""
    lazy = LazyFleet(settings, clock(settings.now))
    try:
        fleet = await lazy.fleet()
        return await (rehearsed if dry_run else maintained)(fleet, progress)
    finally:
        await lazy.close()


async def maintained(fleet: Fleet, progress: Progress) -> Maintained:
    """Maintain a fleet. Raises ConflictError when another run is under way, here or in another process."""
    async with leased(fleet.programs, fleet.knowledge, fleet.now, LEASE) as hands:
        if hands is None:
            raise ConflictError("Another maintenance of this fleet is running; leave it to that one.")
        maintenance = Maintenance(fleet.programs, fleet.knowledge, hands, fleet.now())
        done = await _steps(fleet, maintenance, progress, dry_run=False)
        await maintenance.note(fleet.now())
        return done


async def rehearsed(fleet: Fleet, progress: Progress) -> Maintained:
    """Return what `maintained` would do now; nothing is written."""
    hands = Promotions(fleet.programs, fleet.knowledge)
    maintenance = Maintenance(fleet.programs, fleet.knowledge, hands, fleet.now())
    return await _steps(fleet, maintenance, progress, dry_run=True)


async def _steps(fleet: Fleet, maintenance: Maintenance, progress: Progress, *, dry_run: bool) -> Maintained:
    async def beyond_the_sweep(done: float, _total: float, message: str) -> None:
        await progress(done + 1, STEPS, message)

    await progress(0, STEPS, "archiving what faded")
    archived = await maintenance.sweep()
    consolidated = await pattern_consolidate(fleet, beyond_the_sweep, dry_run=dry_run)
    return _told(archived, consolidated)


def _told(archived: Sequence[Archived], consolidated: ConsolidateAnswer) -> Maintained:
    return Maintained(
        dry_run=consolidated.dry_run,
        archived=tuple(_lesson(line) for line in archived),
        promoted=tuple(entry.key for entry in consolidated.promoted),
        updated=tuple(entry.key for entry in consolidated.updated),
        echoes=consolidated.echoes,
        waiting=consolidated.waiting,
    )


def _lesson(line: Archived) -> ArchivedLesson:
    pattern = line.pattern
    return ArchivedLesson(
        program_id=line.program_id, pattern_id=pattern.id, domain=pattern.domain, pattern=pattern.pattern
    )
