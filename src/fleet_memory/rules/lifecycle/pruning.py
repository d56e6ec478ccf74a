"""The decay sweep: which of a program's patterns leave for the archive, and when it must be looked
at again.
"""

from datetime import datetime

from fleet_memory.rules.lifecycle.decay import is_prunable, prunable_after
from fleet_memory.rules.lifecycle.paging import archived
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import PagedLesson, Program


def sweep_after(program: Program) -> float | None:
    """Return the instant after which the sweep has work here, in seconds since 1970; None when it
    never will.
    """
    lessons: list[Pattern | PagedLesson] = [*program.patterns.values(), *program.unread.values()]
    times = [lesson.reinforced_s for lesson in lessons]
    return prunable_after(lessons[times.index(min(times))], program.decay) if lessons else None


def swept(program: Program, now: datetime) -> ProgramChange:
    """Archive the lessons that are prunable at `now`, promoted ones too: their entries keep the
    contributions.

    Those on pages that were not read stay.
    """
    gone = [
        pattern for pattern in program.patterns.values() if is_prunable(pattern, now, program.decay)
    ]
    return ProgramChange(*archived(program, gone, "decay", now)) if gone else ProgramChange(program)
