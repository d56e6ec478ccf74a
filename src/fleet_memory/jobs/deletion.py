"""Deletes a program: its lessons and notes go to the archive, what it contributed to shared knowledge stays, marked."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fleet_memory.errors import ConflictError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.consolidation import leased
from fleet_memory.repositories.archive import record_write
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.waiting import batches
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.programs import Archived, ArchivedNote, ArchiveRecord, Program
from fleet_memory.stores import Query, Ref, Write, document_id

_MAX_RACES = 20  # a program that still writes is read again


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
    ConflictError while a consolidation runs or when the program writes without a pause.
    """
    fleet.caller.require_curation()
    async with leased(fleet.programs, fleet.knowledge, fleet.now) as hands:
        if hands is None:
            raise ConflictError("A consolidation is running; call again in a moment.")
        for _ in range(_MAX_RACES):
            versioned = await _read_existing(fleet, program_id)
            for key in _counted(versioned.program).entries:
                await fleet.knowledge.update_silently(key, lambda entry: _marked(entry, program_id))
            for batch in batches(_archiving(fleet, versioned.program)):
                await fleet.programs.store.commit(*batch)
            if await hands.commit(*await _removing(fleet, versioned)):
                return _counted(versioned.program)
    raise ConflictError(f"{program_id} is being written without a pause; stop it, then call again.")


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
    lines: list[ArchiveRecord] = [
        Archived(program_id=program.program_id, pattern=pattern, reason="deleted", at=at)
        for pattern in program.patterns.values()
    ]
    lines += [
        ArchivedNote(program_id=program.program_id, note=note, reason="deleted", at=at)
        for note in program.notes.values()
    ]
    return [record_write(_base(fleet), line) for line in lines]


async def _removing(fleet: Fleet, versioned: VersionedProgram) -> Sequence[Write]:
    """Return the writes that remove the program and its history, and make the next consolidation look at everything."""
    store, base, name = fleet.programs.store, _base(fleet), versioned.program.program_id
    history = await store.find(Query(f"{base}/history", {"programId": name}))
    index = Ref(f"{base}/waiting", "index")  # its shards name the program's lessons
    known = [document for document in await store.get(index) if document]
    return [
        Write(fleet.programs.ref(name), None, versioned.revision),
        *(Write(document.ref, None, document.revision) for document in (*history, *known)),
    ]


def _base(fleet: Fleet) -> str:
    return f"fleets/{document_id(fleet.knowledge.fleet_id)}"
