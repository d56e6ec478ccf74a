"""Limits the size of a program's document: a full memory goes on working."""

from datetime import datetime
from operator import methodcaller
from typing import TypeVar, cast

from fleet_memory.errors import CapacityExceededError
from fleet_memory.repositories.limits import MAX_PROGRAM_BYTES, MAX_SEARCHED_PROGRAM_BYTES
from fleet_memory.repositories.program_codec import document_size
from fleet_memory.rules.lifecycle.paging import refilled, with_fitting_pages
from fleet_memory.rules.lifecycle.room import with_search_vectors_within, without_weakest_promoted
from fleet_memory.rules.lifecycle.stamping import ProgramChange, stamped
from fleet_memory.schemas.programs import Program

_C = TypeVar("_C")


def with_room(before: Program, after: Program, now: datetime) -> ProgramChange:
    """Return a changed program, stamped with `now`, that fits into its documents, and the lessons
    that left for that.

    The strongest lessons of pages that were read take free places. A page's weakest lessons leave
    it; of the program's own document promoted lessons leave, the weakest first. Search vectors take
    no room; those that would make the document too large are left out. Raises CapacityExceededError
    when all of these lessons are too few, PagesNeededError when a page must shrink and was not
    read.
    """
    if after is before:
        return ProgramChange(before)
    fitting = with_fitting_pages(before, after, now)
    program, archived = (
        stamped(before, with_free_places_taken(fitting.program, now), now),
        fitting.archived,
    )
    while (excess := document_size(program) - MAX_PROGRAM_BYTES) > 0:
        roomier, gone = without_weakest_promoted(before, program, excess, now)
        if not gone:
            raise CapacityExceededError(
                f"{after.program_id}'s memory is full ({excess} bytes above {MAX_PROGRAM_BYTES}). "
                "Forget lessons that it no longer needs (forget_memory), or store under "
                "another programId."
            )
        program, archived = stamped(before, roomier, now), (*archived, *gone)
    fitting_vectors = with_fitting_search_vectors(before, program, now)
    return ProgramChange(
        program if fitting_vectors is program else stamped(before, fitting_vectors, now), archived
    )


def with_fitting_search_vectors(before: Program, program: Program, now: datetime) -> Program:
    """Return a program without the search vectors that its document has no room for; the same
    program if it has.
    """
    most = MAX_SEARCHED_PROGRAM_BYTES - document_size(program)
    if sum([pattern.search_bytes for pattern in program.active.values()]) <= most:
        return program
    return with_search_vectors_within(most, before, program, now)


def with_free_places_taken(program: Program, now: datetime) -> Program:
    """Return a program with the strongest lessons of its pages at hand, as many as it has room for.

    The same program when its pages were not read.
    """
    if not program.paged or not program.is_whole:
        return program
    return refilled(program, now, MAX_PROGRAM_BYTES - document_size(program))


def with_archived(outcome: _C, room: ProgramChange, archived: tuple[object, ...]) -> _C:
    """Return a change's result, which is a NamedTuple, with the program and the archived lessons of
    making room.
    """
    if not room.archived:
        return outcome
    return cast(
        "_C",
        methodcaller("_replace", program=room.program, archived=(*archived, *room.archived))(
            outcome
        ),
    )
