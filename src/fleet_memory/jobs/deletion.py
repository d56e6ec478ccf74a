"""Deletes a program: its lessons and notes go to the archive, its contributions to knowledge stay,
marked.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from fleet_memory.errors import UnknownProgramError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import decision
from fleet_memory.jobs.curation import clean_text
from fleet_memory.jobs.tokens import revoke_tokens_of
from fleet_memory.repositories.documents import batches
from fleet_memory.repositories.programs import VersionedProgram
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.erasing import is_beside
from fleet_memory.rules.tokens import is_live
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Archived, ArchivedNote, ArchiveRecord, Program
from fleet_memory.stores import Query, Write


class Deleted(NamedTuple):
    """A deleted program: the counts of archived lessons and notes, the keys of entries with its
    contributions.

    `tokens` counts those that were live and are revoked. `beside`: its other spellings and its
    subagents, which stay.
    """

    program_id: str
    patterns: int
    notes: int
    entries: tuple[str, ...]
    tokens: int = 0
    beside: tuple[str, ...] = ()


async def preview_deletion(fleet: Fleet, program_id: str) -> Deleted:
    """Return the effect of a deletion. Raises as `delete_program`. Billed 1 read for each entry
    and program of the fleet.
    """
    fleet.caller.require_curation()
    return await _counted(fleet, (await _read_existing(fleet, program_id)).program)


async def delete_program(fleet: Fleet, program_id: str, why: str = "its work has ended") -> Deleted:
    """Delete a program. Killed at any moment, running it again finishes the rest and loses nothing.

    No other program is shown a text of it afterwards. Raises ForbiddenError unless the caller may
    curate, UnknownProgramError when there is no such program, ConflictError when the program keeps
    writing. Billed 1R 1W for each lesson, note, entry and pair of the program, and 1 read for each
    entry, program and open pair of the fleet.
    """
    fleet.caller.require_curation()
    why = await clean_text(fleet, "--why", why)
    deleted = await retry_conflicts(
        partial(_delete_once, fleet, program_id, why), f"program {program_id}"
    )
    await _close_pairs(fleet, program_id)  # a run may have proposed one in between
    return deleted


async def _delete_once(fleet: Fleet, program_id: str, why: str) -> Deleted:
    """Revoke its tokens, mark its contributions, close its pairs, archive its lessons and notes and
    remove it.

    A kill loses nothing. The last two are one commit unless that is too large for a store: else
    what is archived while the program goes on writing would be archived again with the next
    attempt.
    """
    versioned = await _read_existing(fleet, program_id)
    deleted = await _counted(fleet, versioned.program)
    await revoke_tokens_of(fleet, program_id, "since its program was deleted")
    for key in deleted.entries:
        await fleet.knowledge.update_without_ledger(key, lambda entry: _marked(entry, program_id))
    await _close_pairs(fleet, program_id)
    *batches_before, last = batches(_archiving(fleet, versioned.program)) or [[]]
    for batch in batches_before:
        await fleet.programs.store.commit(*batch)
    line = decision(fleet, "forgotten", program_id, why)
    await fleet.programs.store.commit(
        *last, fleet.knowledge.ledger.write(line), *await _removing(fleet, versioned)
    )
    return deleted


async def _close_pairs(fleet: Fleet, program_id: str) -> None:
    """Close every pair with a lesson of the program that still asks, so that no program is shown
    it; ask it about no entry either.
    """
    ids = {pair.pair_id for pair in await fleet.pairs.waiting() if _is_of(pair, program_id)}
    for pair_id in sorted(ids):
        await retry_conflicts(partial(_close_pair, fleet, pair_id, program_id), f"pair {pair_id}")


async def _close_pair(fleet: Fleet, pair_id: str, program_id: str) -> None:
    (versioned,) = await fleet.pairs.read(pair_id)
    pair = versioned.pair
    if pair is None or pair.state == "gone" or not _is_of(pair, program_id):
        return
    a, b = (
        replace(side, program_id="") if side.program_id == program_id else side
        for side in (pair.a, pair.b)
    )
    # the text of an entry is the fleet's, and stays: others decide
    is_lesson = any(side.key is None and not side.program_id for side in (a, b))
    after = replace(pair, state="gone") if is_lesson else replace(pair, a=a, b=b)
    await fleet.pairs.store.commit(fleet.pairs.write(versioned, after))


def _is_of(pair: Pair, program_id: str) -> bool:
    return any(side.program_id == program_id for side in (pair.a, pair.b))


async def _read_existing(fleet: Fleet, program_id: str) -> VersionedProgram:
    (versioned,) = await fleet.programs.read_versioned(program_id)
    if not versioned.program.exists:
        raise UnknownProgramError(program_id, await fleet.close_programs(program_id))
    return versioned


async def _counted(fleet: Fleet, program: Program) -> Deleted:
    """Count lessons, notes and entries; contributions are searched, as lessons may have left the
    memory.
    """
    entries = [
        versioned.entry for versioned in await fleet.knowledge.all() if versioned.entry is not None
    ]
    live = [
        versioned
        for versioned in await fleet.tokens.all(program.program_id)
        if is_live(versioned.record, fleet.now())
    ]
    name = program.program_id
    keys = sorted(entry.key for entry in entries if _has_part(entry, name))
    others = [
        versioned.program.program_id
        async for block in fleet.programs.in_blocks()
        for versioned in block.programs
    ]
    beside = sorted(other for other in others if is_beside(other, name))
    counts = len(program.patterns), len(program.notes)
    return Deleted(name, *counts, tuple(keys), len(live), tuple(beside))


def _has_part(entry: Entry, program_id: str) -> bool:
    return any(line.program_id == program_id for line in entry.provenance)


def _marked(entry: Entry, program_id: str) -> Entry:
    """Return the entry with this program's contributions marked; the same object when they are."""
    if not any(
        line.program_id == program_id and not line.program_deleted for line in entry.provenance
    ):
        return entry
    return replace(
        entry,
        unpublished=True,
        provenance=tuple(
            replace(line, program_deleted=True) if line.program_id == program_id else line
            for line in entry.provenance
        ),
    )


def _archiving(fleet: Fleet, program: Program) -> Sequence[Write]:
    """Return the writes that archive a program's lessons and notes; the same ones if nothing
    changed meanwhile.
    """
    at = (
        program.last_update or fleet.now()
    )  # not the time of this run: a repeated one writes no second line
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
    """Return the writes that remove the program, its history and the shelf; warm
    maintainers read all again.
    """
    store, paths, name = fleet.programs.store, fleet.programs.paths, versioned.program.program_id
    history = await store.find(Query(paths.history, {"programId": name}))
    return [
        Write(paths.program(name), None, versioned.revision),
        *(Write(document.ref, None, document.revision) for document in history),
        *await fleet.knowledge.shelves.removal(),
        await fleet.last_runs.new_epoch(considered=True),
    ]
