"""The store's time of a commit, and the names of refused documents, on every engine."""

from datetime import UTC, datetime, timedelta

import pytest

from fleet_memory.clock import machine_time
from fleet_memory.errors import ConflictError
from fleet_memory.stores import ABSENT, Ref, Store, Write

pytestmark = pytest.mark.anyio

BASHER, ISO = Ref("fleets/f1/programs", "basher"), Ref("fleets/f1/programs", "iso")
NEAR = timedelta(seconds=1)  # both engines run on this machine


async def test_a_commit_returns_the_stores_time_in_utc(store: Store) -> None:
    before = machine_time()
    times = [await store.commit(Write(BASHER, {"n": n})) for n in range(3)]
    assert before - NEAR <= times[0] <= times[1] <= times[2] <= machine_time() + NEAR
    assert {(type(time), time.tzinfo) for time in times} == {(datetime, UTC)}


async def test_a_commit_of_nothing_returns_this_machines_time(store: Store) -> None:
    before = machine_time()
    assert before <= await store.commit() <= machine_time()


async def test_a_conflict_names_the_documents_to_the_operator_alone(store: Store) -> None:
    await store.commit(Write(BASHER, {"n": 1}, ABSENT))
    with pytest.raises(ConflictError) as caught:
        await store.commit(Write(BASHER, {"n": 2}, ABSENT), Write(ISO, {"n": 2}, ABSENT))
    assert "fleets/f1/programs/basher" in caught.value.operator_detail
    assert "basher" not in str(caught.value)
