"""Forget one lesson on purpose."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from fleet_memory.errors import PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.archive import archive_record_id
from fleet_memory.rules.lifecycle.admission import pattern_of
from fleet_memory.rules.lifecycle.forgetting import Forgotten, forgotten
from fleet_memory.rules.lifecycle.paging import require_whole
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.answers.state import ForgetAnswer
from fleet_memory.schemas.fields import Name, QueryText
from fleet_memory.schemas.programs import Program
from fleet_memory.tools.parameters import BRIEF, OwnProgram
from fleet_memory.tools.retrieval import keys_for
from fleet_memory.views.lessons import shown_key


async def forget_memory(
    fleet: Fleet,
    program_id: OwnProgram,
    pattern_id: Annotated[
        Name, Field(description="A pattern id of yours", json_schema_extra=BRIEF)
    ],
    reason: Annotated[
        QueryText,
        Field(description="Why it should go; the archive keeps it", json_schema_extra=BRIEF),
    ],
) -> ForgetAnswer:
    """Archive a lesson (patternId) that should not be in your memory, with the reason.

    One that proved false: reinforce_memory with contradicted.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    forgotten = await fleet.programs.update(
        program_id, lambda program: _forgotten(program, pattern_id, reason, now), now
    )
    return ForgetAnswer(
        archive_id=archive_record_id(forgotten.archived[0]),
        knowledge_key=shown_key(forgotten.pattern, await keys_for(fleet, [forgotten.pattern])),
    )


def _forgotten(program: Program, pattern_id: str, why: str, now: datetime) -> Forgotten:
    pattern = pattern_of(program, pattern_id)
    if pattern is None:
        require_whole(program)
        own = [
            lesson.id for lesson in program.patterns.values() if shown_key(lesson, ()) == pattern_id
        ]
        raise PatternNotFoundError(
            program.program_id, pattern_id, own or close_names(pattern_id, program.patterns)
        )
    return forgotten(program, pattern, why, now)
