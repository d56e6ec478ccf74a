"""Write, change or remove a short-term note."""

from typing import Annotated

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError, NoteNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.notes import (
    NewNote,
    NoteChange,
    Noted,
    added,
    names_another_change,
    with_note_change,
)
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.answers.state import NotedAnswer
from fleet_memory.schemas.fields import Name, NoteText
from fleet_memory.schemas.programs import Program
from fleet_memory.tools.note_room import require_room_for_notes
from fleet_memory.tools.parameters import BRIEF, OwnProgram, RequestId
from fleet_memory.views.state import noted_answer


async def write_note(
    fleet: Fleet,
    program_id: OwnProgram,
    text: Annotated[
        NoteText | None, Field(description="One thing to keep in mind", json_schema_extra=BRIEF)
    ] = None,
    note_id: Annotated[
        Name | None, Field(description="The note to change, e.g. n7", json_schema_extra=BRIEF)
    ] = None,
    pinned: Annotated[
        bool | None,
        Field(strict=True, description="Whether the cap must spare it", json_schema_extra=BRIEF),
    ] = None,
    remove: Annotated[
        bool | None,
        Field(strict=True, description="Moves it to the archive", json_schema_extra=BRIEF),
    ] = None,
    request_id: RequestId = None,
) -> NotedAnswer:
    """Write a note for the next days, such as a port that is taken; boot shows it.

    With noteId: change its text or pinned, or remove it. Beyond 80 lines the oldest not pinned are
    archived.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    if note_id is None:
        if text is None or remove:
            raise InvalidArgumentError(
                "noteId: required with remove"
                if remove
                else "text: required, unless noteId names a note to change"
            )
        sent = NewNote(text, bool(pinned), request_id, now)
        noted = await fleet.programs.update(
            program_id, lambda program: require_room_for_notes(added(program, sent)), now
        )
        return noted_answer("added", noted)
    change = NoteChange(note_id, text, pinned, bool(remove), request_id, now)
    _require_one_meaning(change)
    noted = await fleet.programs.update(program_id, lambda program: _changed(program, change), now)
    return noted_answer("removed" if remove else "edited", noted)


def _require_one_meaning(change: NoteChange) -> None:
    parts = [
        name
        for name, value in (("text", change.text), ("pinned", change.pinned))
        if value is not None
    ]
    if change.remove and parts:
        raise InvalidArgumentError(
            f"remove: contradicts {' and '.join(parts)}; send noteId and remove alone"
        )
    if not change.remove and not parts:
        raise InvalidArgumentError("text: required with noteId, unless pinned or remove is sent")


def _changed(program: Program, change: NoteChange) -> Noted:
    if names_another_change(program, change):
        raise InvalidArgumentError(
            f"requestId: {change.request_id!r} was used for another change of "
            f"{change.note_id}, and nothing was "
            "written now; give this one a name of its own, or none"
        )
    noted = with_note_change(program, change)
    if noted is None:
        raise NoteNotFoundError(
            program.program_id, change.note_id, close_names(change.note_id, program.notes)
        )
    return require_room_for_notes(noted)
