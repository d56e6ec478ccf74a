"""Forgetting a lesson on purpose, and bringing one back from the archive."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.lifecycle.admission import free_id, with_pattern
from fleet_memory.rules.lifecycle.decay import is_prunable
from fleet_memory.rules.lifecycle.room import archived
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Archived, Program


class Forgotten(NamedTuple):
    """A program without a pattern, and the pattern's line in the archive."""

    program: Program
    pattern: Pattern
    archived: tuple[Archived, ...]


class Restored(NamedTuple):
    """A program with a pattern from the archive, as it is called there now."""

    program: Program
    pattern: Pattern
    fades: bool
    archived: tuple[Archived, ...] = ()


def forgotten(program: Program, pattern: Pattern, why: str, now: datetime) -> Forgotten:
    """Move a pattern to the archive. Its contribution to an entry stays there: an entry keeps its
    provenance.
    """
    left, lines = archived(program, [pattern], "forgotten", now, why)
    return Forgotten(left, pattern, lines)


def restored(program: Program, pattern: Pattern, now: datetime) -> Restored:
    """Bring a pattern back with its clock, evidence and origin; the next run finds out which entry
    it is in now.

    Under its own id, unless another pattern took that meanwhile. The stamps of the commit make it
    pending. `fades` when it is so old that the next sweep would archive it again.
    """
    theirs = {id_ for other in program.patterns.values() for id_ in (other.id, *other.calls)}
    back = replace(
        pattern,
        id=free_id(program, pattern.id),
        calls={id_: call for id_, call in pattern.calls.items() if id_ not in theirs},
        knowledge_key=None,
        echo=False,
        rewrite=None,
    )
    after = with_pattern(program, back, pending=False)
    return Restored(after, back, is_prunable(back, now, program.decay))


def pattern_restore_problem(program: Program, pattern: Pattern) -> str | None:
    """Return why a pattern cannot come back to the program, with advice; None when it can."""
    twin = next(
        (
            p
            for p in program.patterns.values()
            if (p.words, p.project_id) == (pattern.words, pattern.project_id)
        ),
        None,
    )
    return f"it has learnt this again as {twin.id!r}; reinforce that one" if twin else None
