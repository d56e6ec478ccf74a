"""Read what a program handed over before."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.answers.state import HistoryAnswer, SummaryAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.state import ContextSummary


async def get_context_history(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="The program to read")],
    limit: Annotated[int, Field(strict=True, ge=1, le=50, description="Most summaries, 1 to 50")] = 50,
) -> HistoryAnswer:
    """Read a program's earlier context summaries, newest first: what it worked on, and what it handed over when.

    Call it when the present handoff does not explain itself. The newest 50 are kept.
    """
    fleet.caller.require_read(program_id)
    found = await fleet.programs.history.newest(await fleet.programs.read(program_id), limit)
    return HistoryAnswer(
        program_id=program_id,
        summaries=tuple(
            SummaryAnswer(
                at=past.at, version=past.version, context_summary=ContextSummary.model_validate(past.context_summary)
            )
            for past in found
        ),
    )
