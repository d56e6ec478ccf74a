"""Limits the size of a program's document: a full memory goes on working."""

from datetime import datetime
from operator import methodcaller
from typing import TypeVar, cast

from fleet_memory.errors import CapacityExceededError
from fleet_memory.repositories.limits import MAX_PROGRAM_BYTES
from fleet_memory.repositories.program_codec import document_size
from fleet_memory.rules.lifecycle.room import without_weakest_promoted
from fleet_memory.rules.lifecycle.stamping import ProgramChange, stamped
from fleet_memory.schemas.programs import Archived, Program

_C = TypeVar("_C")


def with_room(before: Program, after: Program, now: datetime) -> ProgramChange:
    """Return a changed program, stamped with `now`, that fits into its document, and the lessons that left for that.

    Promoted lessons leave, the weakest first. Raises CapacityExceededError when all of them are too few.
    """
    program, archived = stamped(before, after, now), tuple[Archived, ...]()
    while program is not before and (excess := document_size(program) - MAX_PROGRAM_BYTES) > 0:
        roomier, gone = without_weakest_promoted(before, program, excess, now)
        if not gone:
            raise CapacityExceededError(
                f"{after.program_id}'s memory is full ({excess} bytes above {MAX_PROGRAM_BYTES}). "
                "Forget patterns it no longer needs, or store under another programId."
            )
        program, archived = stamped(before, roomier, now), (*archived, *gone)
    return ProgramChange(program, archived)


def with_archived(outcome: _C, room: ProgramChange, archived: tuple[object, ...]) -> _C:
    """Return a change's result, which is a NamedTuple, with the program and the archived lessons of making room."""
    if not room.archived:
        return outcome
    return cast("_C", methodcaller("_replace", program=room.program, archived=(*archived, *room.archived))(outcome))
