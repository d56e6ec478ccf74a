"""The sweep of maintenance: archives lessons that faded, and remembers when maintenance last ended.

It reads the programs that are due and the contributors of entries that retired since, not the whole fleet.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple, cast

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.lifecycle.pruning import sweep_after, swept
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.programs import Archived
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Json, Write

PROGRAMS_PER_READ: Final = 50  # chosen: 50 programs of 900,000 bytes at most are 45 MB in memory at once


class LastMaintenance(NamedTuple):
    """When maintenance last ended, None for never, and the knowledge version whose retirements it had followed up."""

    at: datetime | None = None
    knowledge_version: int = 0


class ArchivedLesson(Value):
    """A lesson that faded into the archive; not the whole of it, since a first sweep may move very many."""

    program_id: str
    pattern_id: str
    domain: str
    pattern: str


class Sweep:
    """One sweep of a fleet, after the `last` maintenance. A dry run lists the patterns to archive."""

    def __init__(self, fleet: Fleet, writer: FencedWriter, last: LastMaintenance) -> None:
        self._programs = fleet.programs
        self._knowledge = fleet.knowledge
        self._writer = writer
        self._retired: frozenset[str] = frozenset()
        self._unchanged: set[str] = set()  # programs that this sweep looked at: the store names them again
        self._lost_a_race = False
        self._version = last.knowledge_version
        self._archived: list[ArchivedLesson] = []

    @property
    def knowledge_version(self) -> int:
        """The version of knowledge whose retirements are followed up in every contributor."""
        return self._version

    async def run(self, now: datetime) -> list[ArchivedLesson]:
        """Archive what is prunable at `now` and return it. Raises LeaseLostError.

        A program that somebody writes at that moment is left to the next sweep.
        """
        snapshot = await self._knowledge.snapshots.read()
        self._retired = frozenset(row.key for row in snapshot.rows if row.status == "retired")
        fresh = (row for row in snapshot.rows if row.key in self._retired and row.changed_in > self._version)
        await self._sweep_contributors({name for row in fresh for name in row.contributors}, now)
        if not self._lost_a_race:
            self._version = snapshot.version
        await self._sweep_due(now)
        return self._archived

    async def _sweep_contributors(self, names: Iterable[str], now: datetime) -> None:
        ordered = sorted(names)
        for start in range(0, len(ordered), PROGRAMS_PER_READ):
            for versioned in await self._programs.read_versioned(*ordered[start : start + PROGRAMS_PER_READ]):
                await self._sweep(versioned, now)

    async def _sweep_due(self, now: datetime) -> None:
        """Look at one program, then at twice as many each time: a fleet with none due costs one read."""
        count = 1
        while True:
            found = await self._programs.due_for_sweep(count + len(self._unchanged))
            due = [versioned for versioned in found if self._is_due(versioned, now)]
            for versioned in due:
                await self._sweep(versioned, now)
            if len(due) < count:
                return
            # A dry run changes none of them, so all are read again each time: only doubling bounds that.
            count = 2 * count if self._writer.is_dry_run else min(2 * count, PROGRAMS_PER_READ)

    def _is_due(self, versioned: VersionedProgram, now: datetime) -> bool:
        after = sweep_after(versioned.program)
        return after is not None and after < now.timestamp() and versioned.program.program_id not in self._unchanged

    async def _sweep(self, versioned: VersionedProgram, now: datetime) -> None:
        result = swept(versioned.program, now, self._retired)
        after = stamped(versioned.program, result.program, now)
        writes = self._programs.writes(versioned, after, result.archived)
        committed = not writes or await self._writer.try_commit(*writes)
        if committed:
            self._archived += [_archived_lesson(record) for record in result.archived]
        else:
            self._lost_a_race = True
        if not committed or not writes or self._writer.is_dry_run:
            self._unchanged.add(versioned.program.program_id)


def _archived_lesson(record: Archived) -> ArchivedLesson:
    lesson = record.pattern
    return ArchivedLesson(
        program_id=record.program_id, pattern_id=lesson.id, domain=lesson.domain, pattern=lesson.pattern
    )


async def refresh_snapshot(fleet: Fleet, writer: FencedWriter) -> int:
    """Have the next publishing show every entry as it is, and return how many it does not show now.

    A snapshot that was lost begins again, after every version that a program has read. Billed 1 read per entry.
    Raises LeaseLostError.
    """
    knowledge = fleet.knowledge
    unshown = await knowledge.snapshots.missing()
    if unshown and not (await knowledge.snapshots.read()).version:
        await writer.try_commit(knowledge.snapshots.first(await fleet.programs.newest_seen()))
    for versioned in unshown:
        if versioned.entry is not None:  # an entry that somebody changes at that moment is marked by that change
            ref = knowledge.paths.entry(versioned.entry.key)
            await writer.try_commit(Write(ref, {"unpublished": True}, versioned.revision))
    return len(unshown)


async def last_maintenance(knowledge: Knowledge) -> LastMaintenance:
    """Return when maintenance last ended, and the knowledge version that it had followed up. Billed 1 read."""
    (document,) = await knowledge.store.get(knowledge.paths.last_maintenance)
    if document is None:
        return LastMaintenance()
    fields = document.fields
    return LastMaintenance(datetime.fromisoformat(str(fields["at"])), cast("int", fields["knowledgeVersion"]))


async def record_maintenance(knowledge: Knowledge, writer: FencedWriter, sweep: Sweep, at: datetime) -> None:
    """Record that maintenance with this sweep ended at `at`. Raises LeaseLostError."""
    fields: dict[str, Json] = {"at": at.isoformat(), "knowledgeVersion": sweep.knowledge_version}
    note = Write(knowledge.paths.last_maintenance, fields)
    await retry_conflicts(lambda: writer.commit(note), "the record of the last maintenance")
