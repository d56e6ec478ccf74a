"""Making room in a full memory: what questions find lessons by, then promoted lessons, which their entries keep."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from fleet_memory.rules.lifecycle.decay import strength
from fleet_memory.rules.lifecycle.paging import archived
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

MADE_ROOM: Final = "its memory was full; the entry keeps what it contributed"


def without_search_vectors(program: Program) -> Program:
    """Return a program whose lessons at hand are found by their texts; the same program if they are already."""
    lighter = {id_: replace(p, search_vector="") for id_, p in program.active.items() if p.search_vector}
    return replace(program, patterns={**program.patterns, **lighter}) if lighter else program


def without_weakest_promoted(before: Program, after: Program, excess: int, now: datetime) -> ProgramChange:
    """Return `after` without its weakest promoted lessons, as many as make `excess` bytes of room if there are.

    Lessons that differ from those of `before` stay: the change is about them. The same program when none can leave.
    """
    idle = [p for p in after.active.values() if p.promoted and before.patterns.get(p.id) == p]
    leaving: list[Pattern] = []
    for pattern in sorted(idle, key=lambda p: (strength(p, now), p.last_reinforced, p.id)):
        if excess <= 0:
            break
        leaving.append(pattern)
        excess -= len(pattern.compact().encode())
    return ProgramChange(*archived(after, leaving, "cap", now, MADE_ROOM)) if leaving else ProgramChange(after)
