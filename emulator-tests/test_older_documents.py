"""What a version without calibration left is read as it is, and calibrated from the next consolidation on."""

import json

import pytest
from fleets import consolidate, fleet_on, learn

from fleet_memory.fleet import Fleet
from fleet_memory.stores import Json, Query, Store, Write
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.recall_memory import recall_memory
from fleet_memory.tools.reinforce_memory import reinforce_memory

pytestmark = pytest.mark.anyio

NEWER = {"fleetRate", "calibrated", "calibratedConfidence", "outcomes"}
FLEET = "fleets/default"


def older(value: Json) -> Json:
    """Return a value as the older version would have written it, also inside of JSON kept as text."""
    if isinstance(value, dict):
        return {name: older(one) for name, one in value.items() if name not in NEWER}
    if isinstance(value, list):
        return [older(one) for one in value]
    if isinstance(value, str) and value.startswith("{"):
        lines = value.split("\n")
        return "\n".join(json.dumps(older(json.loads(line)), separators=(",", ":")) for line in lines)
    return value


async def set_back(store: Store) -> int:
    """Take everything newer out of the documents of the fleet; return how many held any."""
    count = 0
    for collection in ("programs", "gsp", "waiting", "snapshots"):
        for document in await store.find(Query(f"{FLEET}/{collection}")):
            fields = dict(document.fields)
            changed = {name: older(value) if name not in NEWER else None for name, value in fields.items()}
            changed = {name: value for name, value in changed.items() if fields[name] != value}
            if changed:
                await store.commit(Write(document.ref, changed))
                count += 1
    return count


async def calibrated(fleet: Fleet, program: str) -> dict[str, float | None]:
    """Return what recall says of the program's own lessons, by id, and of the entries, by key."""
    answer = await recall_memory(fleet, program, scope="all")
    own = {one.id: one.calibrated_confidence for one in answer.patterns}
    return own | {one.key: one.calibrated_confidence for one in answer.knowledge}


async def test_documents_without_calibration_are_read_and_calibrated_by_the_next_run(store: Store) -> None:
    fleet = fleet_on(store)
    for program in ("basher", "sark"):
        await learn(fleet, program, "shared", program)
        await reinforce_memory(fleet, program, program)
    await consolidate(fleet)
    whole = await calibrated(fleet, "basher")
    assert None not in whole.values()
    assert await set_back(store) == 5  # two programs, the entry, the index, the snapshot

    again = fleet_on(store)  # a server that remembers no snapshot
    assert await calibrated(again, "basher") == dict.fromkeys(whole)
    boot = await gsp_bootstrap(again, "sark")
    assert [row.calibrated_confidence for row in boot.knowledge] == [None]

    await learn(again, "iso", "shared")
    await reinforce_memory(again, "basher", "basher")
    assert (await consolidate(again)).updated
    after = await calibrated(again, "basher")
    assert after.keys() == whole.keys()
    assert None not in after.values()  # of the entry: by the contribution that came now
    assert (await calibrated(again, "sark"))["sark"] is None  # nothing of it changed: no run considered it
