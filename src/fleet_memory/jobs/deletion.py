"""Deletes a program: its lessons and notes go to the archive, its contributions to knowledge stay,
marked.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from anyio import to_thread

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
from fleet_memory.schemas.programs import Archived, ArchivedNote, ArchiveRecord
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
    return await _counted(fleet, await _read_existing(fleet, program_id))


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
    await remove_scratch(fleet)
    return deleted


async def remove_scratch(fleet: Fleet) -> None:
    """Delete the file of what toolsets can make again, with its sides: it may have a text that has
    gone from the store.
    """
    if fleet.scratch:
        for side in ("", "-journal", "-wal", "-shm"):
            file = fleet.scratch.with_name(f"{fleet.scratch.name}{side}")
            await to_thread.run_sync(partial(file.unlink, missing_ok=True))


async def _delete_once(fleet: Fleet, program_id: str, why: str) -> Deleted:
    """Revoke its tokens, mark its contributions, close its pairs, archive its lessons and notes and
    remove it, with its documents of toolsets.

    A kill loses nothing. The last two are one commit unless that is too large for a store: else
    what is archived while the program goes on writing would be archived again with the next
    attempt.
    """
    versioned = await _read_existing(fleet, program_id)
    deleted = await _counted(fleet, versioned)
    await revoke_tokens_of(fleet, program_id, "since its program was deleted")
    mark = partial(with_mark, program_id=program_id, is_deleted=True)
    for key in deleted.entries:
        await fleet.knowledge.update(key, mark)
    await _close_pairs(fleet, program_id)
    program, paths, store = versioned.program, fleet.paths, fleet.store
    # not the time of this run: a repeated one writes no second line
    at = program.last_update or fleet.now()
    records: list[ArchiveRecord] = [
        Archived(program_id=program_id, pattern=each, reason="deleted", at=at)
        for each in program.patterns.values()
    ]
    records += [
        ArchivedNote(program_id=program_id, note=each, reason="deleted", at=at)
        for each in program.notes.values()
    ]
    writes = [fleet.programs.archive.write(record) for record in records]
    for name in ("history", *fleet.collections):
        query = Query(paths.collection(name), {"programId": program_id})
        writes += [Write(each.ref, None, each.revision) for each in await store.find(query)]
    *batches_before, last = batches(writes) or [[]]
    for batch in batches_before:
        await store.commit(*batch)
    await store.commit(
        *last,
        fleet.knowledge.ledger.write(decision(fleet, "forgotten", program_id, why)),
        Write(paths.program(program_id), None, versioned.revision),
        *await fleet.knowledge.shelves.removal(),
        # warm maintainers read all again
        await fleet.last_runs.new_epoch(considered=True),
    )
    return deleted


async def _close_pairs(fleet: Fleet, program_id: str) -> None:
    """Close every pair with a lesson of the program that still asks, so that no program is shown
    it; ask it about no entry either.
    """

    async def close(pair_id: str) -> None:
        (versioned,) = await fleet.pairs.read(pair_id)
        if versioned.pair and (after := _without(versioned.pair, program_id)) != versioned.pair:
            await fleet.store.commit(fleet.pairs.write(versioned, after))

    for pair in await fleet.pairs.waiting():
        if _without(pair, program_id) != pair:
            await retry_conflicts(partial(close, pair.pair_id), f"pair {pair.pair_id}")


def _without(pair: Pair, program_id: str) -> Pair:
    """Return the pair without the program; `gone` where that is the author of a lesson. The text of
    an entry is the fleet's, and stays: others decide.
    """
    a, b = (
        replace(side, program_id="") if side.program_id == program_id else side
        for side in (pair.a, pair.b)
    )
    if pair.state == "gone" or (a, b) == (pair.a, pair.b):
        return pair
    is_lesson = any(side.key is None and not side.program_id for side in (a, b))
    return replace(pair, state="gone") if is_lesson else replace(pair, a=a, b=b)


async def _read_existing(fleet: Fleet, program_id: str) -> VersionedProgram:
    (versioned,) = await fleet.programs.read_versioned(program_id)
    if not versioned.program.exists:
        raise UnknownProgramError(program_id, await fleet.close_programs(program_id))
    return versioned


async def _counted(fleet: Fleet, versioned: VersionedProgram) -> Deleted:
    """Count lessons, notes and entries; contributions are searched, as lessons may have left the
    memory.
    """
    program, name = versioned.program, versioned.program.program_id
    entries = [each.entry for each in await fleet.knowledge.all() if each.entry]
    keys = (e.key for e in entries if any(line.program_id == name for line in e.provenance))
    others = [each.program.program_id for each in await fleet.programs.all()]
    return Deleted(
        name,
        len(program.patterns),
        len(program.notes),
        tuple(sorted(keys)),
        sum(is_live(each.value, fleet.now()) for each in await fleet.tokens.all(name)),
        tuple(sorted(other for other in others if is_beside(other, name))),
    )


def with_mark(
    entry: Entry, program_id: str, pattern_id: str | None = None, *, is_deleted: bool
) -> Entry:
    """Return the entry whose contributions of a program, or of one of its lessons, say whether
    their program was deleted; the same object when they do.
    """
    lines = tuple(
        replace(line, program_deleted=is_deleted or None)
        if line.program_id == program_id and pattern_id in (None, line.pattern_id)
        else line
        for line in entry.provenance
    )
    if lines == entry.provenance:
        return entry
    return replace(entry, provenance=lines, unpublished=True)
