"""How far behind a fleet's knowledge is, for the answers of several tools."""

from fleet_memory.fleet import Fleet
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.schemas.knowledge import Freshness, Snapshot


async def fleet_freshness(fleet: Fleet, snapshot: Snapshot) -> Freshness:
    """Return the freshness of a snapshot. Billed as 2 counts."""
    pending, open_pairs = await fleet.programs.count_pending(), await fleet.pairs.count_open()
    return freshness(pending, open_pairs, snapshot.consolidated_at, fleet.now())
