"""The stamps that every commit of a program leaves, derived from the program before and after."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Archived, Program


class ProgramChange(NamedTuple):
    """A program after a change, the same object when nothing changed, and the lessons that left it for the archive."""

    program: Program
    archived: tuple[Archived, ...] = ()


def stamped(before: Program, after: Program, now: datetime) -> Program:
    """Return `after` with the stamps of one commit; the same object when nothing changed.

    `changes` grows by one. `touched` gains the domains in which a lesson changed or left, or came back without being
    pending. `last_update` becomes `now` when an agent's lessons, notes, state or sessions changed, but not when it
    only read, nor for verdicts, new vectors or the sweep's list of retired entries.
    """
    if after is before:
        return after
    return replace(
        after,
        changes=before.changes + 1,
        touched=touched(after, *_touched(before, after)),
        last_update=now if _agents_part_changed(before, after) else after.last_update,
    )


def touched(program: Program, *domains: str) -> tuple[str, ...]:
    """Return the domains in which a program's lessons changed since consolidation last looked, with these."""
    return tuple(sorted({*program.touched, *domains}))


def without_marks(pattern: Pattern) -> Pattern:
    """Return a lesson without consolidation's own marks and without vectors of another embedder."""
    return replace(pattern, knowledge_key=None, echo=False, vector="", embedder="")


def _touched(before: Program, after: Program) -> Iterator[str]:
    for id_, old in before.patterns.items():
        new = after.patterns.get(id_)
        if before.decay != after.decay or new is None or (new is not old and without_marks(new) != without_marks(old)):
            yield old.domain
    for id_, new in after.patterns.items():
        if id_ not in before.patterns and id_ not in after.pending:
            yield new.domain


def _agents_part_changed(before: Program, after: Program) -> bool:
    if before.patterns.keys() != after.patterns.keys() or before.notes != after.notes:
        return True
    if (before.state_version, before.sessions) != (after.state_version, after.sessions):
        return True
    pairs = ((old, after.patterns[id_]) for id_, old in before.patterns.items())
    return any(new is not old and _from_agents(new) != _from_agents(old) for old, new in pairs)


def _from_agents(pattern: Pattern) -> Pattern:
    return replace(without_marks(pattern), verdicts={})
