"""Write a short-term note."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from fleet_memory.errors import CapacityExceededError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.idempotency import request_key, result_of, with_request
from fleet_memory.rules.lifecycle.notes import MAX_NOTE_LINES, Noted, new_note, with_note
from fleet_memory.schemas.answers.state import GoneNote, NotedAnswer
from fleet_memory.schemas.fields import Name, NoteText
from fleet_memory.schemas.programs import Program


class NewNote(NamedTuple):
    """A note as it was sent."""

    text: str
    pinned: bool
    request_id: str | None
    now: datetime


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
    done = await fleet.programs.update(program_id, lambda program: added(program, sent), sent.now)
    return noted_answer("added", done)


def added(program: Program, sent: NewNote) -> Noted:
    """Return the program with a new note, unchanged for a known request. Raises CapacityExceededError."""
    if known := result_of(program.request_ids, "note", sent.request_id):
        return Noted(program, known)
    note = new_note(program, sent.text, sent.now, pinned=sent.pinned)
    done = require_room_for_notes(with_note(program, note, sent.now))
    request = request_key("note", sent.request_id, note.id)
    return done._replace(program=replace(done.program, request_ids=with_request(program.request_ids, request)))


def require_room_for_notes(done: Noted) -> Noted:
    """Return what was done if the notes fit now. Raises CapacityExceededError when too many are pinned."""
    if done.lines > MAX_NOTE_LINES:
        raise CapacityExceededError(
            f"The notes would have {done.lines} lines, at most {MAX_NOTE_LINES}, and all others are pinned. "
            "Unpin one with edit_note, or remove one with remove_note."
        )
    return done


def noted_answer(status: Literal["added", "edited"], done: Noted) -> NotedAnswer:
    """Return what became of a note."""
    return NotedAnswer(
        status=status if done.changed else "unchanged",
        program_id=done.program.program_id,
        note_id=done.note_id,
        lines=done.lines,
        archived=tuple(GoneNote(id=gone.note.id, text=gone.note.text) for gone in done.archived),
    )
