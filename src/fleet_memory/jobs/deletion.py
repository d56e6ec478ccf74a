"""Deletes a program: its lessons and notes go to the archive, what it contributed to shared knowledge stays, marked."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from fleet_memory.errors import ConflictError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import ANOTHER_CHANGE_RUNS, FencedWriter, leased
from fleet_memory.repositories.batching import batches
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.programs import Archived, ArchivedNote, ArchiveRecord, Program
from fleet_memory.stores import Query, Write


class Deleted(NamedTuple):
    """What became of a program: how many lessons and notes were archived, which entries keep its contributions."""

    program_id: str
    patterns: int
    notes: int
    entries: tuple[str, ...]


async def preview_deletion(fleet: Fleet, program_id: str) -> Deleted:
    """Return what deleting would do. Raises InvalidArgumentError when there is no such program."""
    return _counted((await _read_existing(fleet, program_id)).program)


async def delete_program(fleet: Fleet, program_id: str) -> Deleted:
    """Delete a program. Killed at any moment, running it again finishes the rest and loses nothing.

    Raises ForbiddenError unless the caller may curate, InvalidArgumentError when there is no such program,
    ConflictError while another change of shared knowledge runs or when the program keeps writing, LeaseLostError when
    another run has taken over.
    """
    fleet.caller.require_curation()
    async with leased(fleet) as writer:
        if writer is None:
            raise ConflictError(ANOTHER_CHANGE_RUNS)
        return await retry_conflicts(partial(_delete_once, fleet, writer, program_id), f"program {program_id}")


async def _delete_once(fleet: Fleet, writer: FencedWriter, program_id: str) -> Deleted:
    """Mark its contributions, archive its lessons and notes, remove it, in this order: a kill loses nothing."""
    versioned = await _read_existing(fleet, program_id)
    deleted = _counted(versioned.program)
    for key in deleted.entries:
        await fleet.knowledge.update_without_ledger(key, lambda entry: _marked(entry, program_id))
    for batch in batches(_archiving(fleet, versioned.program)):
        await writer.commit(*batch)
    await writer.commit(*await _removing(fleet, versioned))
    return deleted


async def _read_existing(fleet: Fleet, program_id: str) -> VersionedProgram:
    (versioned,) = await fleet.programs.read_versioned(program_id)
    if not versioned.program.exists:
        close = await fleet.programs.suggestions(program_id)
        raise InvalidArgumentError(
            f"PROGRAM: nothing was ever stored for {program_id!r}"
            + (f"; close names: {', '.join(close)}" if close else "")
        )
    return versioned


def _counted(program: Program) -> Deleted:
    keys = {pattern.knowledge_key for pattern in program.patterns.values() if pattern.promoted}
    entries = tuple(sorted(key for key in keys if key))
    return Deleted(program.program_id, len(program.patterns), len(program.notes), entries)


def _marked(entry: Entry, program_id: str) -> Entry:
    """Return the entry with this program's contributions marked; the same object when they are."""
    if not any(line.program_id == program_id and not line.program_deleted for line in entry.provenance):
        return entry
    return replace(
        entry,
        provenance=tuple(
            replace(line, program_deleted=True) if line.program_id == program_id else line for line in entry.provenance
        ),
    )


def _archiving(fleet: Fleet, program: Program) -> Sequence[Write]:
    """Return the writes that keep a program's lessons and notes; the same again when nothing changed meanwhile."""
    at = program.last_update or fleet.now()  # not the time of this run: a repeated one writes no second line
    records: list[ArchiveRecord] = [
        Archived(program_id=program.program_id, pattern=pattern, reason="deleted", at=at)
        for pattern in program.patterns.values()
    ]
    records += [
        ArchivedNote(program_id=program.program_id, note=note, reason="deleted", at=at)
        for note in program.notes.values()
    ]
    return [fleet.programs.archive.write(record) for record in records]


async def _removing(fleet: Fleet, versioned: VersionedProgram) -> Sequence[Write]:
    """Return the writes that remove the program and its history, and make the next consolidation look at everything."""
    store, paths, name = fleet.programs.store, fleet.programs.paths, versioned.program.program_id
    history = await store.find(Query(paths.history, {"programId": name}))
    # the shards below the index name the program's lessons
    known = [document for document in await store.get(paths.waiting_index) if document]
    return [
        Write(paths.program(name), None, versioned.revision),
        *(Write(document.ref, None, document.revision) for document in (*history, *known)),
    ]
