"""A program's memory as numbers."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.rules.health.duplicates import Scale
from fleet_memory.rules.health.program import advice, fading, signs, verdict
from fleet_memory.rules.knowledge.freshness import count_waiting, own_freshness
from fleet_memory.schemas.answers.health import HealthAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.views.health import fading_answer
from fleet_memory.views.state import decay_answer


async def memory_health(
    fleet: Fleet, program_id: Annotated[Name, Field(description="The program to look at")]
) -> HealthAnswer:
    """See how a program's memory does: what is active, stale and promoted, what fades soon, and what to do about it.

    Call it at the end of a session, or when recall brings little.
    """
    fleet.caller.require_read(program_id)
    await fleet.embedder.ready()
    now = fleet.now()
    program = await fleet.programs.read(program_id)
    patterns = program.patterns.values()
    seen = signs(program, Scale(fleet.embedder.name, fleet.embedder.profile), now)
    soon = fading(program, now)
    return HealthAnswer(
        exists=None if program.exists else False,
        suggestions=None if program.exists else await fleet.programs.suggestions(program_id) or None,
        similarity_engine=fleet.degraded_engine,
        program_id=program_id,
        total_patterns=seen.total,
        active_patterns=seen.total - seen.stale,
        stale_patterns=seen.stale,
        promoted_patterns=seen.promoted,
        domains=tuple(sorted({pattern.domain for pattern in patterns})),
        last_update=program.last_update,
        decay_config=decay_answer(program.decay),
        stale_ratio=seen.stale_ratio,
        verdict=verdict(seen),
        advice=advice(seen, len(soon)),
        fading_soon=fading_answer(soon),
        to_judge=await fleet.pairs.count_asked_of(program_id),
        freshness=own_freshness(count_waiting(program), now),
    )
