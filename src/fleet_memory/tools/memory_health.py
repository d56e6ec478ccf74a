"""A program's memory as numbers."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.jobs.health import count_signs
from fleet_memory.rules.consensus.asking import open_rewrites
from fleet_memory.rules.health.program import advice, fading, verdict
from fleet_memory.rules.health.sessions import sessions_advice
from fleet_memory.rules.health.waiting import own_advice
from fleet_memory.rules.knowledge.freshness import count_waiting, own_freshness
from fleet_memory.schemas.answers.health import HealthAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.programs import Program
from fleet_memory.views.health import fading_answer, most_used_domains, omitted_counts
from fleet_memory.views.state import decay_answer


async def memory_health(
    fleet: Fleet, program_id: Annotated[Name, Field(description="The program to look at")]
) -> HealthAnswer:
    """Check a program's memory: what is active, stale and promoted, what fades soon, and what to do
    about it.

    Call it at the end of a session, or when recall brings little.
    """
    await allow_read(fleet, program_id, "memory_health")
    await fleet.embedder.check()
    now = fleet.now()
    program = await fleet.programs.read(program_id)
    seen = await count_signs(fleet, program, now)
    soon, domains = fading(program, now), {pattern.domain for pattern in program.patterns.values()}
    to_judge = await _count_questions(fleet, program, now)
    frame = HealthAnswer(
        exists=None if program.exists else False,
        suggestions=None if program.exists else await fleet.close_programs(program_id) or None,
        similarity_engine=fleet.degraded_engine,
        program_id=program_id,
        total_patterns=seen.total,
        active_patterns=seen.total - seen.stale,
        stale_patterns=seen.stale,
        promoted_patterns=seen.promoted,
        domains=most_used_domains(program.patterns.values()),
        last_update=program.last_update,
        decay_config=decay_answer(program.decay),
        stale_ratio=seen.stale_ratio,
        verdict=verdict(seen),
        advice=(*own_advice(to_judge), *sessions_advice(seen.sessions), *advice(seen, len(soon))),
        fading_soon=fading_answer(soon),
        to_judge=to_judge,
        freshness=own_freshness(count_waiting(program), now),
    )
    shown = {"domains": len(frame.domains), "fadingSoon": len(frame.fading_soon)}
    return replace(
        frame, omitted=omitted_counts({"domains": len(domains), "fadingSoon": len(soon)}, shown)
    )


async def _count_questions(fleet: Fleet, program: Program, now: datetime) -> int:
    """Return how many pairs a program is asked about: its rewrites and, unless people judge, those
    with a side of it.

    Billed as 2 counts, and the policy.
    """
    rewrites = len(open_rewrites(program, now))
    if (await fleet.policies.read(now)).judging == "people":
        return rewrites
    return rewrites + await fleet.pairs.count_asked_of(program.program_id)
