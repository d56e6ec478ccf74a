"""Deletes a program: lessons and notes go to the archive, contributions to knowledge stay."""

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
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.pairs import closed
from fleet_memory.rules.tokens import is_live
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Archived, ArchivedNote, ArchiveRecord
from fleet_memory.stores import Query, Write


class Deleted(NamedTuple):
    """A deleted program: the counts of archived lessons and notes, and of tokens that are
    revoked.
    """

    program_id: str
    patterns: int
    notes: int
    tokens: int = 0


async def delete_program(
    fleet: Fleet, program_id: str, why: str = "its work has ended", *, dry_run: bool = False
) -> Deleted:
    """Delete a program; a dry run counts. Killed at any moment, running it again finishes the rest
    and loses nothing.

    Raises ForbiddenError unless the caller may curate, UnknownProgramError when there is no such
    program, ConflictError when the program keeps writing. Billed 1R 1W for each lesson, note and
    pair of the program, and 1 read for each of its tokens and each open pair of the fleet.
    """
    fleet.caller.require_curation()
    why = await clean_text(fleet, "--why", why)
    attempt = partial(_delete_once, fleet, program_id, why, dry_run=dry_run)
    deleted = await retry_conflicts(attempt, f"program {program_id}")
    if not dry_run:
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


async def _delete_once(fleet: Fleet, program_id: str, why: str, *, dry_run: bool) -> Deleted:
    """Revoke its tokens, ask it about no pair, archive its lessons and notes, and remove it with
    its documents of toolsets.

    A kill loses nothing. The last two are one commit unless that is too large for a store: else
    what is archived while the program goes on writing would be archived again with the next
    attempt.
    """
    (versioned,) = await fleet.programs.read_versioned(program_id)
    program, paths, store = versioned.program, fleet.paths, fleet.store
    if not program.exists:
        raise UnknownProgramError(program_id, await fleet.close_programs(program_id))
    tokens = sum(is_live(each.value, fleet.now()) for each in await fleet.tokens.all(program_id))
    deleted = Deleted(program_id, len(program.patterns), len(program.notes), tokens)
    if dry_run:
        return deleted
    await revoke_tokens_of(fleet, program_id, "since its program was deleted")
    for pair in await fleet.pairs.waiting():
        if program_id in (pair.a.program_id, pair.b.program_id):
            (before,) = await fleet.pairs.read(pair.pair_id)
            if before.pair:
                await store.commit(fleet.pairs.write(before, _without(before.pair, program_id)))
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


def _without(pair: Pair, program_id: str) -> Pair:
    """Return the pair without the program; `gone` where that is the author of a lesson. The text of
    an entry is the fleet's, and stays: others decide.
    """
    sides = [side for side in (pair.a, pair.b) if side.program_id == program_id]
    if any(side.key is None for side in sides):
        return closed(pair)
    a, b = (replace(side, program_id="") if side in sides else side for side in (pair.a, pair.b))
    return replace(pair, a=a, b=b)
