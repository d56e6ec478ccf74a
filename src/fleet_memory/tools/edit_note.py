"""Change a short-term note."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError, NoteNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.notes import Noted, with_note
from fleet_memory.schemas.answers.state import NotedAnswer
from fleet_memory.schemas.fields import Name, NoteText
from fleet_memory.schemas.programs import Program
from fleet_memory.tools.note_room import require_room_for_notes
from fleet_memory.views.state import noted_answer


class NoteEdit(NamedTuple):
    """What to change; None leaves it."""

    text: str | None
    pinned: bool | None
    now: datetime


async def edit_note(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program")],
    note_id: Annotated[Name, Field(description="From add_note, get_program_state or boot, e.g. n7")],
    text: Annotated[NoteText | None, Field(description="Its new text; unchanged when absent")] = None,
    pinned: Annotated[
        bool | None, Field(strict=True, description="Whether the cap must spare it; unchanged when absent")
    ] = None,
) -> NotedAnswer:
    """Correct a note, or pin or unpin it. A new text makes it the newest."""
    fleet.caller.require_write(program_id)
    if text is None and pinned is None:
        raise InvalidArgumentError("text: required, unless pinned says what to change")
    now = fleet.now()
    done = await fleet.programs.update(
        program_id, lambda program: _edited(program, note_id, NoteEdit(text, pinned, now)), now
    )
    return noted_answer("edited", done)


def _edited(program: Program, note_id: str, edit: NoteEdit) -> Noted:
    old = program.notes.get(note_id)
    if old is None:
        raise NoteNotFoundError(program.program_id, note_id)
    note = old if edit.text in (None, old.text) else replace(old, text=edit.text, at=edit.now)
    note = note if edit.pinned in (None, note.pinned) else replace(note, pinned=edit.pinned)
    return Noted(program, note_id) if note is old else require_room_for_notes(with_note(program, note, edit.now))
