"""A program's memory as numbers."""

from contextlib import suppress
from typing import Annotated

from pydantic import Field

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.decay import is_stale
from fleet_memory.rules.freshness import freshness
from fleet_memory.rules.health import advice, fading_soon, stale_ratio, verdict
from fleet_memory.schemas.answers import DecayAnswer, HealthAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.tools import Fleet


async def memory_health(
    fleet: Fleet, program_id: Annotated[Name, Field(description="The program to look at")]
) -> HealthAnswer:
    """See how a program's memory does: what is active, stale and promoted, what fades soon, and what to do about it.

    Call it at the end of a session, or when recall brings little.
    """
    fleet.caller.require_read(program_id)
    with suppress(EmbedderError):  # one that is down for a moment is no news; one that cannot load is told below
        await fleet.embedder.vectors([])
    now = fleet.now()
    program = await fleet.programs.read(program_id)
    patterns = program.patterns.values()
    stale = sum(is_stale(pattern, now, program.decay) for pattern in patterns)
    return HealthAnswer(
        exists=None if program.exists else False,
        suggestions=None if program.exists else await fleet.programs.suggestions(program_id) or None,
        similarity_engine=fleet.degraded_engine,
        program_id=program_id,
        total_patterns=len(patterns),
        active_patterns=len(patterns) - stale,
        stale_patterns=stale,
        promoted_patterns=sum(pattern.promoted for pattern in patterns),
        domains=tuple(sorted({pattern.domain for pattern in patterns})),
        last_update=program.last_update,
        decay_config=DecayAnswer.model_validate(program.decay.model_dump()),
        stale_ratio=stale_ratio(program, now),
        verdict=verdict(program, now),
        advice=advice(program, now),
        fading_soon=fading_soon(program, now),
        freshness=freshness(await fleet.programs.count_pending()),
    )
