"""Read what a program keeps between sessions."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.answers.state import NoteAnswer, StateAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.state import ContextSummary
from fleet_memory.views.state import decay_answer


async def get_program_state(
    fleet: Fleet, program_id: Annotated[Name, Field(description="The program to read")]
) -> StateAnswer:
    """Read a program's state: what its last session handed over, its config, its baselines, its notes, how it forgets.

    Boot shows it too. Call this before an update that builds on what is there: its `version` is the expectedVersion.
    """
    fleet.caller.require_read(program_id)
    program = await fleet.programs.read(program_id)
    return StateAnswer(
        exists=None if program.exists else False,
        suggestions=None if program.exists else await fleet.programs.suggestions(program_id) or None,
        program_id=program_id,
        version=program.state_version,
        context_summary=ContextSummary.model_validate(program.context_summary),
        config=program.config,
        baselines=program.baselines,
        decay_config=decay_answer(program.decay),
        notes=tuple(
            NoteAnswer(id=note.id, text=note.text, pinned=note.pinned, at=note.at) for note in program.notes.values()
        ),
        last_update=program.last_update,
    )
