"""Refuses a note that has no room."""

from fleet_memory.errors import CapacityExceededError
from fleet_memory.rules.lifecycle.notes import Noted, notes_problem


def require_room_for_notes(noted: Noted) -> Noted:
    """Return the change if the notes fit after it. Raises CapacityExceededError when too many are
    pinned.
    """
    if problem := notes_problem(noted):
        raise CapacityExceededError(problem)
    return noted
