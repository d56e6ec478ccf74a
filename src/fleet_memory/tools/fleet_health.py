"""A whole fleet's memory as numbers, for those who look after it."""

from datetime import datetime
from functools import partial
from typing import Annotated, Final, get_args

from pydantic import Field

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import EVERY_PROGRAM, note_read
from fleet_memory.rules.health.duplicates import Scale
from fleet_memory.rules.health.fleet import looked_at
from fleet_memory.rules.health.sums import fleet_sums
from fleet_memory.rules.retrieval.budget import MAX_TOKENS
from fleet_memory.schemas.answers.health import FleetHealthAnswer
from fleet_memory.schemas.health import FleetSums, ModelRun
from fleet_memory.schemas.knowledge import ChangeEvent
from fleet_memory.tools.freshness import fleet_judging
from fleet_memory.views.health import FleetReading, fleet_health_answer

MIN_FLEET_HEALTH_TOKENS: Final = 1_000  # tokens; the numbers alone take up to 700
MAX_PROGRAMS_LOOKED_AT: Final = (
    64  # programs that one call reads, each billed; Source: docs/firestore.md, chosen
)


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
    """Check the whole fleet's memory: what waits for a judge, waste, echoes, duplicates, and what
    ages next.

    For those who look after the fleet. `advice` has the steps, the most urgent first. `unwell`
    lists programs, the worst first; memory_health has their advice. Of more than 64 programs
    lessons are counted by each run (`asOf`).
    """
    return await health_of_fleet(fleet, max_tokens)


async def health_of_fleet(
    fleet: Fleet, max_tokens: int, max_programs: int = MAX_PROGRAMS_LOOKED_AT
) -> FleetHealthAnswer:
    """Return a fleet's health: up to so many programs are read, of more the sums that the last run
    left.

    Billed 1 read for each program or for the sums, the snapshot, the policy, and 22 sums.
    """
    if not fleet.caller.sees_other_programs:
        raise ForbiddenError(
            "You are bound to one program and see no others. Call memory_health for your own "
            "memory."
        )
    await note_read(fleet, EVERY_PROGRAM, "fleet_health")
    await fleet.embedder.check()
    now = fleet.now()
    programs = await fleet.programs.count()
    is_live = programs <= max_programs
    open_pairs = await fleet.pairs.count_open()
    reading = FleetReading(
        sums=await (_sums_now(fleet, now) if is_live else fleet.sums.read()),
        is_live=is_live,
        programs=programs,
        pending=await fleet.programs.count_pending(),
        left=await fleet.programs.archive.counts(),
        snapshot=await fleet.knowledge.snapshots.read(),
        events={
            event: await fleet.knowledge.ledger.count(event) for event in get_args(ChangeEvent)
        },
        open_pairs=open_pairs,
        judging=await fleet_judging(fleet, programs),
        similarity_engine=fleet.degraded_engine,
        model_run=await _model_run(fleet),
    )
    return fleet_health_answer(reading, max_tokens, now)


async def _sums_now(fleet: Fleet, now: datetime) -> FleetSums:
    scale = Scale(fleet.embedder.name, fleet.embedder.profile)
    return fleet_sums(
        await fleet.programs.map_programs(partial(looked_at, scale=scale, now=now)), now
    )


async def _model_run(fleet: Fleet) -> ModelRun | None:
    policy = await fleet.policies.read(fleet.now())
    if not policy.judge_model:
        return None
    return (await fleet.model_runs.read()).note.run or ModelRun(model=policy.judge_model)
