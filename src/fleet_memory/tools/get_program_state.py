"""Read a program's state, which it keeps between sessions."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.answers.state import StateAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.views.state import state_answer


async def get_program_state(
    fleet: Fleet,
    program_id: Name,
    history: Annotated[int, Field(strict=True, ge=0, le=50)] = 0,
) -> StateAnswer:
    """Read a program's handover, config, baselines and notes, which boot shows too, and the version for an update.

    history: so many of the latest handovers.
    """
    fleet.caller.require_read(program_id)
    program = await fleet.programs.read(program_id)
    return state_answer(
        program,
        past=await fleet.programs.history.newest(program, history),
        suggestions=() if program.exists else await fleet.programs.suggestions(program_id),
    )
