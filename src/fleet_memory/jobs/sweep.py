"""The sweep of maintenance: archives lessons that faded. It reads the programs that are due, not
the whole fleet.
"""

from collections.abc import Mapping
from datetime import datetime

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.jobs.reembedding import new_vectors
from fleet_memory.repositories.blocks import PROGRAMS_PER_BLOCK
from fleet_memory.repositories.entry_codec import VersionedEntry, changed_entry_fields
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.rules.entries import texts_without_vector, with_vectors
from fleet_memory.rules.lifecycle.room import sweep_after, swept
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.programs import Archived
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Write


class ArchivedLesson(Value):
    """A lesson that faded into the archive; not the whole of it, since a first sweep may move very
    many.
    """

    program_id: str
    pattern_id: str
    domain: str
    pattern: str


class Sweep:
    """One sweep of a fleet. A dry run lists the patterns to archive."""

    def __init__(self, fleet: Fleet, writer: FencedWriter) -> None:
        self._programs = fleet.programs
        self._writer = writer
        self._unchanged: set[str] = (
            set()
        )  # programs that this sweep looked at: the store names them again
        self._archived: list[ArchivedLesson] = []

    async def run(self, now: datetime) -> list[ArchivedLesson]:
        """Archive and return the lessons prunable at `now`. Raises LeaseLostError.

        A program that somebody writes at that moment is left to the next sweep, one that cannot be
        read is skipped. One program is looked at, then twice as many each time: a fleet with none
        due costs one read.
        """
        count, unreadable = 1, 0
        while True:
            block = await self._programs.due_for_sweep(count + len(self._unchanged) + unreadable)
            due = [versioned for versioned in block.programs if self._is_due(versioned, now)]
            for versioned in due:
                await self._sweep(versioned, now)
            if len(due) < count and len(block.unreadable) <= unreadable:
                return self._archived
            unreadable = len(block.unreadable)
            # A dry run changes none of them, so all are read again each time: only doubling bounds
            # that.
            count = 2 * count if self._writer.is_dry_run else min(2 * count, PROGRAMS_PER_BLOCK)

    def _is_due(self, versioned: VersionedProgram, now: datetime) -> bool:
        after = sweep_after(versioned.program)
        has_work = after is not None and after < now.timestamp()
        return has_work and versioned.program.program_id not in self._unchanged

    async def _sweep(self, versioned: VersionedProgram, now: datetime) -> None:
        result = swept(versioned.program, now)
        after = stamped(versioned.program, result.program, now)
        writes = self._programs.writes(versioned, after, result.archived)
        committed = not writes or await self._writer.try_commit(*writes)
        if committed:
            self._archived += [_archived_lesson(record) for record in result.archived]
        if not committed or not writes or self._writer.is_dry_run:
            self._unchanged.add(versioned.program.program_id)


def _archived_lesson(record: Archived) -> ArchivedLesson:
    lesson = record.pattern
    return ArchivedLesson(
        program_id=record.program_id,
        pattern_id=lesson.id,
        domain=lesson.domain,
        pattern=lesson.pattern,
    )


async def refresh_snapshot(fleet: Fleet, writer: FencedWriter) -> int:
    """Have the next publishing show every entry as it is, and return how many it does not show now.

    Wordings without a vector, of older versions, get one. A snapshot that was lost begins again,
    after every version that a program has read. Billed 1 read per entry. Raises LeaseLostError.
    """
    knowledge = fleet.knowledge
    entries = await knowledge.all()
    unshown = {
        versioned.entry.key
        for versioned in await knowledge.snapshots.unshown(entries)
        if versioned.entry
    }
    if unshown and not (await knowledge.snapshots.read()).version:
        await writer.try_commit(
            knowledge.snapshots.first(await fleet.programs.newest_read_version())
        )
    await fleet.embedder.check()
    renewed = 0
    for versioned in entries:
        vectors = await _vectors_of_wordings(fleet, versioned)
        if versioned.entry is None or not (vectors or versioned.entry.key in unshown):
            continue
        after = (
            with_vectors(versioned.entry, vectors, fleet.embedder.name)
            if vectors
            else versioned.entry
        )
        fields = changed_entry_fields(versioned, after) if vectors else {}
        # an entry that somebody changes at that moment is marked by that change
        ref = knowledge.paths.entry(after.key)
        await writer.try_commit(Write(ref, fields | {"unpublished": True}, versioned.revision))
        renewed += 1
    return renewed


async def _vectors_of_wordings(fleet: Fleet, versioned: VersionedEntry) -> Mapping[str, str]:
    """Return the vectors that wordings of an entry lack, by text; none while another engine stands
    in for its own.
    """
    entry, embedder = versioned.entry, fleet.embedder
    if entry is None or entry.embedder != embedder.name:
        return {}
    if not texts_without_vector(entry, embedder.name):
        return {}
    try:
        await embedder.ready()
        return await new_vectors(fleet, entry) if entry.embedder == embedder.name else {}
    except EmbedderError:
        return {}
