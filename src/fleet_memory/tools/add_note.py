"""Write a short-term note."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.notes import NewNote, added
from fleet_memory.schemas.answers.state import NotedAnswer
from fleet_memory.schemas.fields import Name, NoteText
from fleet_memory.tools.note_room import require_room_for_notes
from fleet_memory.views.state import noted_answer


async def add_note(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program")],
    text: Annotated[NoteText, Field(description="What to keep in mind, up to 500 characters")],
    pinned: Annotated[bool, Field(strict=True, description="Whether the cap must spare it")] = False,
    request_id: Annotated[Name | None, Field(description="Makes a repeated call harmless")] = None,
) -> NotedAnswer:
    """Write down what matters for the next days only: a state of affairs, a reminder, a port number. Boot shows it.

    What stays true is a lesson: store_memory. Notes take 80 lines in all; over that the oldest that are not pinned go
    to the archive, and the answer names them.
    """
    fleet.caller.require_write(program_id)
    sent = NewNote(text, pinned, request_id, fleet.now())
    done = await fleet.programs.update(
        program_id, lambda program: require_room_for_notes(added(program, sent)), sent.now
    )
    return noted_answer("added", done)
