"""The sums of a fleet, for `fleet_health`: a run looks at the programs that it reads, and leaves
the sums of all.
"""

from collections.abc import Sequence

from anyio import to_thread

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.rules.health.duplicates import Scale, repeat_spans
from fleet_memory.rules.health.known_looks import KnownLook, known_look
from fleet_memory.rules.health.sums import next_sums
from fleet_memory.schemas.health import FleetSums
from fleet_memory.schemas.programs import Program


async def look_at_programs(
    fleet: Fleet, memory: ProposingMemory, programs: Sequence[Program]
) -> None:
    """Look at programs as they are now, in a thread: their own lessons are compared, by the vectors
    that they have.
    """
    scale = Scale(fleet.embedder.name, fleet.embedder.profile)
    memory.looks |= await to_thread.run_sync(_looks, programs, scale)


async def sums_to_write(fleet: Fleet, memory: ProposingMemory) -> FleetSums | None:
    """Return the sums of the programs as of now; None while those that this server wrote last are
    right.
    """
    return await to_thread.run_sync(next_sums, dict(memory.looks), memory.sums, fleet.now())


def _looks(programs: Sequence[Program], scale: Scale) -> dict[str, KnownLook]:
    return {
        program.program_id: known_look(program, repeat_spans(program, scale))
        for program in programs
        if program.exists
    }
