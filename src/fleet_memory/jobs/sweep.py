"""The decay sweep on top of the four verbs, and the note of the last maintenance, so that many servers do it once.

It reads the programs that are due and the contributors of entries that retired since, not the fleet.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple, cast

from fleet_memory.jobs.consolidation.promotions import Promotions
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import Programs
from fleet_memory.rules.lifecycle.pruning import sweep_after, swept
from fleet_memory.schemas.programs import Archived
from fleet_memory.stores import Json, Write

MAINTENANCE_LEASE: Final = "maintenance"
PROGRAMS_PER_READ: Final = 50  # programs read at once


class Last(NamedTuple):
    """The last maintenance: when it ended, None for never, and the knowledge whose retirements it had followed up."""

    at: datetime | None = None
    knowledge_version: int = 0


class Faded(NamedTuple):
    """A pattern that went to the archive; not the whole of it, since a first sweep may move very many."""

    program_id: str
    pattern_id: str
    domain: str
    pattern: str


class Maintenance:
    """The maintenance of one fleet, carried out by `hands`: under a lease for good, without one as a dry run."""

    def __init__(self, programs: Programs, knowledge: Knowledge, hands: Promotions, last: Last) -> None:
        self._programs = programs
        self._knowledge = knowledge
        self._hands = hands
        self._retired: frozenset[str] = frozenset()
        self._left: set[str] = set()  # programs that are as they were, so the store names them again
        self._missed = False  # one was written by an agent at that moment
        self._version = last.knowledge_version
        self._faded: list[Faded] = []

    async def sweep(self, now: datetime) -> list[Faded]:
        """Archive what is prunable at `now` and return it. Raises ConflictError when the lease was lost.

        A program that is written at that moment is left to the next sweep.
        """
        snapshot = await self._knowledge.snapshot()
        self._retired = frozenset(row.key for row in snapshot.rows if row.status == "retired")
        fresh = (row for row in snapshot.rows if row.key in self._retired and row.changed_in > self._version)
        await self._sweep_contributors({name for row in fresh for name in row.contributors}, now)
        if not self._missed:
            self._version = snapshot.version
        await self._sweep_due(now)
        return self._faded

    async def refresh_snapshot(self) -> int:
        """Have the next publishing show every entry as it is, and return how many it does not show now.

        A snapshot that was lost begins anew, after every version that a program has read. Billed 1 read per entry.
        Raises ConflictError when the lease was lost.
        """
        unshown = await self._knowledge.snapshots.missing()
        if unshown and not (await self._knowledge.snapshot()).version:
            await self._hands.commit(self._knowledge.snapshots.first(await self._programs.newest_seen()))
        for versioned in unshown:
            if versioned.document is not None:  # one that moves meanwhile is marked by whoever moved it
                await self._hands.commit(
                    Write(versioned.document.ref, {"unpublished": True}, versioned.document.revision)
                )
        return len(unshown)

    async def note(self, at: datetime) -> None:
        """Note that maintenance ended at `at`. Raises ConflictError when the lease was lost."""
        fields: dict[str, Json] = {"at": at.isoformat(), "knowledgeVersion": self._version}
        await self._hands.commit(Write(self._knowledge.paths.last_maintenance, fields))

    async def _sweep_contributors(self, names: Iterable[str], now: datetime) -> None:
        ordered = sorted(names)
        for start in range(0, len(ordered), PROGRAMS_PER_READ):
            for versioned in await self._programs.read_versioned(*ordered[start : start + PROGRAMS_PER_READ]):
                await self._sweep(versioned, now)

    async def _sweep_due(self, now: datetime) -> None:
        """Look at one program, then twice as many each time: a fleet with none due costs one read."""
        most = 1
        while True:
            found = await self._programs.due_for_sweep(most + len(self._left))
            due = [versioned for versioned in found if self._is_due(versioned, now)]
            for versioned in due:
                await self._sweep(versioned, now)
            if len(due) < most:
                return
            # A dry run leaves all as they are, to be read again each time: only doubling bounds that.
            most = 2 * most if self._hands.lease is None else min(2 * most, PROGRAMS_PER_READ)

    def _is_due(self, versioned: VersionedProgram, now: datetime) -> bool:
        after = sweep_after(versioned.program)
        return after is not None and after < now.timestamp() and versioned.program.program_id not in self._left

    async def _sweep(self, versioned: VersionedProgram, now: datetime) -> None:
        result = swept(versioned.program, now, self._retired)
        writes = self._programs.change_writes(versioned, result, now)
        done = not writes or await self._hands.commit(*writes)
        if done:
            self._faded += [_faded(line) for line in result.archived]
        if not done or not writes or self._hands.lease is None:
            self._left.add(versioned.program.program_id)
        self._missed |= not done


def _faded(line: Archived) -> Faded:
    return Faded(line.program_id, line.pattern.id, line.pattern.domain, line.pattern.pattern)


async def last_maintenance(knowledge: Knowledge) -> Last:
    """Return the note of the last maintenance. Billed 1 read."""
    (document,) = await knowledge.store.get(knowledge.paths.last_maintenance)
    if document is None:
        return Last()
    fields = document.fields
    return Last(datetime.fromisoformat(str(fields["at"])), cast("int", fields["knowledgeVersion"]))
