"""Remove a short-term note."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from fleet_memory.errors import NoteNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.notes import Noted, was_made, without_note
from fleet_memory.schemas.answers.state import NotedAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.programs import Program


async def remove_note(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program")],
    note_id: Annotated[Name, Field(description="From add_note, get_program_state or boot, e.g. n7")],
) -> NotedAnswer:
    """Remove a note that is done with. It goes to the archive; one that is gone already is no error."""
    fleet.caller.require_write(program_id)
    now = fleet.now()
    done = await fleet.programs.update(program_id, lambda program: _removed(program, note_id, now), now)
    return NotedAnswer(
        status="removed" if done.changed else "unchanged",
        program_id=program_id,
        note_id=note_id,
        lines=done.lines,
    )


def _removed(program: Program, note_id: str, now: datetime) -> Noted:
    note = program.notes.get(note_id)
    if note is not None:
        return without_note(program, note, now)
    if was_made(program, note_id):
        return Noted(program, note_id)
    raise NoteNotFoundError(program.program_id, note_id)
