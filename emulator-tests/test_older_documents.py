"""Fields of calibration, which an older version stored, are ignored: every answer is the same with
them as without.
"""

import json

import pytest
from fleets import consolidate, fleet_on, learn
from pydantic import JsonValue

from fleet_memory.fleet import Fleet
from fleet_memory.stores import Json, Query, Store, Write
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.gsp_read import gsp_read
from fleet_memory.tools.recall_memory import recall_memory
from fleet_memory.tools.reinforce_memory import reinforce_memory

pytestmark = pytest.mark.anyio

FLEET = "fleets/default"
KEY = "pattern/domain-shared/lesson-shared"


def with_calibration(value: Json) -> Json:
    """Return a value as the older version stored it, also inside of JSON kept as text."""
    if isinstance(value, dict):
        fields = {name: with_calibration(one) for name, one in value.items()}
        if (
            "confidence" in fields and "contributors" in fields
        ):  # an entry's value, a row of the snapshot
            fields["calibratedConfidence"] = 0.6
        if "patternId" in fields:  # a contribution
            fields["calibrated"] = 0.6
        return fields
    if isinstance(value, list):
        return [with_calibration(one) for one in value]
    if isinstance(value, str) and value.startswith("{"):
        lines = value.split("\n")
        return "\n".join(
            json.dumps(with_calibration(json.loads(line)), separators=(",", ":")) for line in lines
        )
    return value


async def set_back(store: Store) -> int:
    """Add the older version's fields to the documents of the fleet; return how many got any."""
    count = 0
    for collection in ("programs", "gsp", "snapshots"):
        for document in await store.find(Query(f"{FLEET}/{collection}")):
            fields = {name: with_calibration(value) for name, value in document.fields.items()}
            if collection == "programs":
                fields["fleetRate"] = 0.75
            changed = {
                name: value for name, value in fields.items() if document.fields.get(name) != value
            }
            if changed:
                await store.commit(Write(document.ref, changed))
                count += 1
    return count


async def answers(fleet: Fleet) -> list[dict[str, JsonValue]]:
    return [
        (await recall_memory(fleet, "basher", scope="all")).wire(),
        (await gsp_bootstrap(fleet, "sark", depth="full")).wire(),
        (await gsp_read(fleet, KEY)).wire(),
    ]


async def test_documents_with_calibration_are_read_and_changed_as_if_it_were_not_there(
    store: Store,
) -> None:
    fleet = fleet_on(store)
    for program in ("basher", "sark"):
        await learn(fleet, program, "shared", program)
        await reinforce_memory(fleet, program, program)
    await consolidate(fleet)
    await gsp_bootstrap(
        fleet, "sark", depth="full"
    )  # changes since the last boot are in the first only
    before = await answers(fleet)
    assert await set_back(store) == 4  # two programs, the entry, the snapshot

    again = fleet_on(store)  # a server that remembers no snapshot
    assert await answers(again) == before

    await learn(again, "iso", "shared")
    await reinforce_memory(again, "basher", "basher")
    (updated,) = (await consolidate(again)).updated
    assert (updated.key, updated.contributors) == (
        KEY,
        ("basher", "sark"),
    )  # iso stored it after the publication
