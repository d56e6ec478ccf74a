"""A look at the memory of one program."""

from datetime import datetime

from anyio import to_thread

from fleet_memory.fleet import Fleet
from fleet_memory.rules.health.duplicates import Scale
from fleet_memory.rules.health.program import Signs, signs
from fleet_memory.schemas.programs import Program


async def count_signs(fleet: Fleet, program: Program, now: datetime) -> Signs:
    """Return the numbers of a program's memory, counted in a thread: 500 lessons take seconds, and
    other calls go on.

    Its lessons are compared by the vectors that they have.
    """
    return await to_thread.run_sync(
        signs, program, Scale(fleet.embedder.name, fleet.embedder.profile), now
    )
