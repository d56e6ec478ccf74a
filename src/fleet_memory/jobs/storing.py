"""Storing a lesson: its program, and the entry that it contributes to when its text changes, in one commit."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.entry_drafts import drafted_store, read_drafts
from fleet_memory.jobs.publishing import publish_if_due
from fleet_memory.rules.lifecycle.admission import Admission, OnDuplicate, admitted
from fleet_memory.rules.lifecycle.sent import SentLesson
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import Write


class _Stored(NamedTuple):
    program: Program
    archived: tuple[Archived, ...]
    admission: Admission
    state_changed: bool


async def store_lesson(
    fleet: Fleet, program_id: str, lesson: SentLesson, on_duplicate: OnDuplicate, now: datetime
) -> Admission:
    """Store a lesson. Billed 1 read and 1 write, and as much for an entry that it is in and rewrites or reinforces."""

    async def change(program: Program) -> tuple[_Stored, Sequence[Write]]:
        admission = admitted(program, lesson, profile=fleet.embedder.profile, on_duplicate=on_duplicate, now=now)
        drafts = await read_drafts(fleet, _keys(program, admission), now)
        admission, drafts = drafted_store(drafts, admission)
        result = _Stored(admission.program, admission.archived, admission, drafts.state_changed)
        return result, drafts.writes(fleet, program_id)

    result = await fleet.programs.update_with(program_id, change, now)
    if result.state_changed:
        await publish_if_due(fleet)
    return result.admission._replace(program=result.program, archived=result.archived)


def _unless_rewritten(program: Program, stored: Callable[[Program], Admission]) -> Admission:
    """Return a store that leaves the program as it is where a contribution is rewritten: that commits an entry too."""
    admission = stored(program)
    return admission if admission.rewritten is None else admission._replace(program=program, archived=())


def _keys(program: Program, admission: Admission) -> list[str]:
    """Return the key of the entry that a store may change; none for a new lesson or a repeated call."""
    if admission.program is program:
        return []
    key = admission.rewritten.key if admission.rewritten else admission.pattern.knowledge_key
    return [key] if key else []
