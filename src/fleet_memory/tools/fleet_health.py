"""A whole fleet's memory as numbers, for those who look after it."""

from functools import partial
from typing import Annotated, Final, get_args

from pydantic import Field

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.health.duplicates import Scale
from fleet_memory.rules.health.fleet import looked_at
from fleet_memory.rules.retrieval.budget import MAX_TOKENS
from fleet_memory.schemas.answers.health import FleetHealthAnswer
from fleet_memory.schemas.health import ModelRun
from fleet_memory.schemas.knowledge import LedgerEvent
from fleet_memory.tools.freshness import fleet_judging
from fleet_memory.views.health import FleetReading, fleet_health_answer

MIN_FLEET_HEALTH_TOKENS: Final = 1_000  # tokens; the numbers alone take up to 700


async def fleet_health(
    fleet: Fleet,
    max_tokens: Annotated[
        int,
        Field(
            strict=True,
            ge=MIN_FLEET_HEALTH_TOKENS,
            le=MAX_TOKENS,
            description="Hard limit of the answer, 1000 to 100000",
        ),
    ] = 2_000,
) -> FleetHealthAnswer:
    """See how the whole fleet's memory does: what waits for somebody, waste, echoes, duplicates, what ages next.

    For those who look after the fleet: it reads every program once. `advice` says what to do, the first thing first.
    `unwell` lists programs, the gravest first; call memory_health for their advice.
    """
    if not fleet.caller.sees_other_programs:
        raise ForbiddenError("You are bound to one program and see no others. Call memory_health for your own memory.")
    await fleet.embedder.ready()
    now = fleet.now()
    scale = Scale(fleet.embedder.name, fleet.embedder.profile)
    looks = await fleet.programs.map_programs(partial(looked_at, scale=scale, now=now))
    open_pairs = await fleet.pairs.count_open()
    reading = FleetReading(
        looks=looks,
        left=await fleet.programs.archive.counts(),
        snapshot=await fleet.knowledge.snapshots.read(),
        events={event: await fleet.knowledge.ledger.count(event) for event in get_args(LedgerEvent)},
        open_pairs=open_pairs,
        judging=await fleet_judging(fleet, len(looks)),
        similarity_engine=fleet.degraded_engine,
        model_run=await _model_run(fleet),
    )
    return fleet_health_answer(reading, max_tokens, now)


async def _model_run(fleet: Fleet) -> ModelRun | None:
    policy = await fleet.policies.read(fleet.now())
    if not policy.judge_model:
        return None
    return (await fleet.model_runs.read()).note.run or ModelRun(model=policy.judge_model)
