"""How far behind a fleet's knowledge is, and whom its pairs wait for, for the answers of several
tools.
"""

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.together import run_all
from fleet_memory.rules.curating import freshness
from fleet_memory.rules.health import judging_counts
from fleet_memory.schemas.health import JudgingCounts
from fleet_memory.schemas.knowledge import Freshness, Snapshot


async def fleet_freshness(fleet: Fleet, snapshot: Snapshot) -> Freshness:
    """Return the freshness of a snapshot. Billed as 2 counts."""
    pending, open_pairs = await run_all(fleet.programs.count_pending, fleet.pairs.count_open)
    return freshness(pending, open_pairs, snapshot.consolidated_at, fleet.now())


async def fleet_judging(fleet: Fleet, programs: int) -> JudgingCounts:
    """Return whom the pairs of a fleet of so many programs wait for. Billed as 3 counts, and the
    policy.
    """
    return judging_counts(
        await fleet.pairs.count_waiting(),
        programs=programs,
        people_judge=(await fleet.policies.read(fleet.now())).judging == "people",
    )
