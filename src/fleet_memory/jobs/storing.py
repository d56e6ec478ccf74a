"""Storing a lesson: its program, and the entry that it contributes to when its text changes, in one
commit.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import log_store
from fleet_memory.jobs.publishing import publish_changes
from fleet_memory.jobs.words import drafted_store, read_drafts
from fleet_memory.rules.entries import EntryChange
from fleet_memory.rules.lifecycle.admission import Admission, OnDuplicate, SentLesson, admitted
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import Write


class _Stored(NamedTuple):
    program: Program
    archived: tuple[Archived, ...]
    admission: Admission
    changes: tuple[EntryChange, ...] = ()


async def store_lesson(
    fleet: Fleet,
    program_id: str,
    lesson: SentLesson,
    on_duplicate: OnDuplicate,
    now: datetime,
) -> Admission:
    """Store a lesson. Billed 1 read and 1 write, and as much for an entry that it is in and
    rewrites or reinforces.
    """

    async def change(program: Program) -> tuple[_Stored, Sequence[Write]]:
        profile = fleet.embedder.profile
        admission = admitted(program, lesson, profile=profile, on_duplicate=on_duplicate, now=now)
        drafts = await read_drafts(fleet, _keys(program, admission), now)
        admission, drafts = drafted_store(drafts, admission)
        result = _Stored(admission.program, admission.archived, admission, drafts.changes)
        return result, drafts.writes(fleet, program_id)

    result = await fleet.programs.update_with(program_id, change, now)
    stored = result.admission._replace(program=result.program, archived=result.archived)
    log_store(stored)
    await publish_changes(fleet, program_id, result.changes)
    return stored


def _keys(program: Program, admission: Admission) -> list[str]:
    """Return the key of the entry that a store may change; none for a new lesson or a repeated
    call.
    """
    if admission.program is program:
        return []
    key = admission.rewritten.key if admission.rewritten else admission.pattern.knowledge_key
    return [key] if key else []
