"""Refuses a note that has no room."""

from fleet_memory.errors import CapacityExceededError
from fleet_memory.rules.lifecycle.notes import Noted, notes_problem


def require_room_for_notes(done: Noted) -> Noted:
    """Return what was done if the notes fit now. Raises CapacityExceededError when too many are pinned."""
    if problem := notes_problem(done):
        raise CapacityExceededError(problem)
    return done
