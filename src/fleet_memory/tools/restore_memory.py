"""Bring back an archived lesson or note of any program."""

from typing import Annotated, Final

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError, UnknownNameError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.schemas.answers.curation import ArchivedItem, RestoreAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.tools.parameters import AnyProgram

MAX_ITEMS: Final = 25  # of the archive in one answer; chosen


async def restore_memory(
    fleet: Fleet,
    program_id: AnyProgram,
    item_id: Annotated[
        Name | None, Field(description="Of the archive, or the lesson's or note's own")
    ] = None,
) -> RestoreAnswer:
    """Bring back a lesson or a note that was archived, of any program; without itemId, list the
    newest of its archive.

    Only when a person asks you to.
    """
    fleet.caller.require_curation()
    await allow_read(fleet, program_id, "restore_memory")
    if item_id is None:
        rows = await list_archive(fleet, program_id)
        shown = tuple(map(ArchivedItem.from_fields, rows[:MAX_ITEMS]))
        return RestoreAnswer(
            program_id=program_id, archive=shown, omitted=len(rows[MAX_ITEMS:]) or None
        )
    try:
        row = await restore_archived(fleet, program_id, item_id)
    except UnknownNameError:
        raise InvalidArgumentError(
            f"itemId: the archive of {program_id} has no {item_id!r}; call without itemId to "
            "list it"
        ) from None
    return RestoreAnswer.from_fields({"programId": program_id, **row})
