"""Making room in a full memory: promoted lessons leave first, because their entries keep text and
provenance.
"""

from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import Final

from fleet_memory.rules.lifecycle.decay import strength
from fleet_memory.rules.lifecycle.paging import archived
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

MADE_ROOM: Final = "its memory was full; the entry keeps what it contributed"


def with_search_vectors_within(
    most: int, before: Program, after: Program, now: datetime
) -> Program:
    """Return `after` with search vectors of at most so many bytes.

    Those that its document had not before go first, of the weakest lessons; so the same program
    keeps the same ones.
    """
    had = {id_ for id_, pattern in before.active.items() if pattern.search_vector}
    bearing = [pattern for pattern in after.active.values() if pattern.search_vector]
    strongest = sorted(
        bearing,
        key=lambda p: (p.id in had, strength(p, now), p.last_reinforced, p.id),
        reverse=True,
    )
    filled = accumulate(pattern.search_bytes for pattern in strongest)
    bare = [
        replace(p, search_vector="")
        for p, size in zip(strongest, filled, strict=True)
        if size > most
    ]
    same = {p.id: known for p in bare if (known := before.patterns.get(p.id)) == p}
    return replace(after, patterns={**after.patterns, **{p.id: p for p in bare}, **same})


def without_weakest_promoted(
    before: Program, after: Program, excess: int, now: datetime
) -> ProgramChange:
    """Return `after` without its weakest promoted lessons, as many as make `excess` bytes of room
    if there are.

    Lessons that differ from those of `before` stay: the change is about them. The same program when
    none can leave.
    """
    idle = [p for p in after.active.values() if p.promoted and before.patterns.get(p.id) == p]
    leaving: list[Pattern] = []
    for pattern in sorted(idle, key=lambda p: (strength(p, now), p.last_reinforced, p.id)):
        if excess <= 0:
            break
        leaving.append(pattern)
        excess -= len(pattern.compact().encode())
    return (
        ProgramChange(*archived(after, leaving, "cap", now, MADE_ROOM))
        if leaving
        else ProgramChange(after)
    )
