"""Reading the snapshot while it is replaced, or after its publisher died: a refusal with the next step, not a wait."""

import anyio
import pytest

from fleet_memory.errors import ConflictError
from fleet_memory.fleet import Fleet
from fleet_memory.stores import Write

pytestmark = pytest.mark.anyio

LIMIT_S = 10  # half of what a commit may take: a reader waits less


async def test_a_snapshot_without_one_of_its_shards_is_refused_soon_and_says_why(fleet: Fleet) -> None:
    head = fleet.knowledge.paths.snapshot_shard(0)
    await fleet.knowledge.store.commit(Write(head, {"version": 3, "parts": 2, "text": "", "half": 0}))
    message = "^Shared knowledge is being republished; call again in a moment.$"
    with anyio.fail_after(LIMIT_S), pytest.raises(ConflictError, match=message):
        await fleet.knowledge.snapshots.read()
