"""Read a program's state, which it keeps between sessions."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.schemas.answers.state import StateAnswer
from fleet_memory.tools.parameters import BRIEF, AnyProgram
from fleet_memory.views.state import state_answer


async def get_program_state(
    fleet: Fleet,
    program_id: AnyProgram,
    history: Annotated[
        int,
        Field(
            strict=True,
            ge=0,
            le=50,
            description="How many earlier handovers to show",
            json_schema_extra=BRIEF,
        ),
    ] = 0,
) -> StateAnswer:
    """Read a program's handover, config, baselines and notes, which boot shows too, and the version
    for an update.

    With history: also so many of its latest handovers, newest first.
    """
    await allow_read(fleet, program_id, "get_program_state")
    program = await fleet.programs.read(program_id)
    return state_answer(
        program,
        past=await fleet.programs.history.newest(program, history),
        suggestions=() if program.exists else await fleet.close_programs(program_id),
    )
