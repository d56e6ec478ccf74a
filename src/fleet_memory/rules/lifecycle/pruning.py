"""The decay sweep: which of a program's patterns leave for the archive, and when it must be looked at again."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.lifecycle.admission import archived
from fleet_memory.rules.lifecycle.decay import is_prunable, prunable_after
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program


def sweep_after(program: Program) -> float | None:
    """Return the instant after which the sweep has work here, in seconds since 1970; None when it never will."""
    mortal = (pattern for pattern in program.patterns.values() if not _protected(pattern, program.retired))
    return min((prunable_after(pattern, program.decay) for pattern in mortal), default=None)


def swept(program: Program, now: datetime, retired: Collection[str]) -> ProgramChange:
    """Archive what is prunable at `now`; `retired` holds the keys of all retired entries of the fleet."""
    patterns = program.patterns.values()
    gone = [p for p in patterns if is_prunable(p, now, program.decay) and not _protected(p, retired)]
    ids = {pattern.id for pattern in gone}
    keys = {p.knowledge_key or "" for p in patterns if p.promoted and p.id not in ids}
    mine = tuple(sorted(key for key in keys if key in retired))
    if not gone and mine == program.retired:
        return ProgramChange(program)
    noted = replace(program, retired=mine)
    return ProgramChange(*archived(noted, gone, "decay", now)) if gone else ProgramChange(noted)


def _protected(pattern: Pattern, retired: Collection[str]) -> bool:
    return pattern.promoted and pattern.knowledge_key not in retired
