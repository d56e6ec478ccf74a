"""The policy as one document: the default until people set one, cached for a minute."""

from datetime import timedelta

import pytest

from fleet_memory.errors import ConflictError, DocumentRejectedError
from fleet_memory.fleet import Fleet
from fleet_memory.schemas.policy import Policy
from fleet_memory.stores import Ref, Write
from tests.lessons import START

pytestmark = pytest.mark.anyio

STRICT = Policy(threshold=3, origins="connection", judging="people", retention_days=90)


async def put(fleet: Fleet, policy: Policy) -> None:
    await fleet.programs.store.commit(
        fleet.policies.write(await fleet.policies.read_versioned(), policy)
    )


async def test_a_fleet_has_the_default_policy_until_people_set_one(fleet: Fleet) -> None:
    assert await fleet.policies.read(START) == Policy()
    await put(fleet, STRICT)
    assert await fleet.policies.read(START) == STRICT
    await put(fleet, Policy())
    assert (await fleet.policies.read_versioned()).value == Policy()


async def test_another_server_follows_within_a_minute(fleet: Fleet) -> None:
    other = Fleet.on(fleet.programs.store, "default", fleet.embedder, fleet.now)
    assert await other.policies.read(START) == Policy()
    await put(fleet, STRICT)
    assert await other.policies.read(START + timedelta(seconds=59)) == Policy()
    assert await other.policies.read(START + timedelta(seconds=60)) == STRICT


async def test_of_two_people_who_set_it_at_once_one_is_refused(fleet: Fleet) -> None:
    before = await fleet.policies.read_versioned()
    await put(fleet, STRICT)
    with pytest.raises(ConflictError):
        await fleet.programs.store.commit(fleet.policies.write(before, Policy(threshold=4)))


async def test_a_policy_of_unknown_values_is_refused_not_ignored(fleet: Fleet) -> None:
    await fleet.programs.store.commit(Write(Ref("fleets", "default"), {"threshold": 1}))
    with pytest.raises(DocumentRejectedError, match="fleet-memory doctor store"):
        await fleet.policies.read(START)
