"""Publishing: changes reach boot at once, but at most every five seconds, and never while a run is
under way.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import anyio
import pytest

from fleet_memory.errors import StoreUnavailableError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import MAINTAINER_LEASE, leased, publish_if_due, publish_now
from fleet_memory.schemas.programs import Caller
from fleet_memory.tools.core.lessons import reinforce_memory
from tests.fleets import NOW, at, documents, interrupted, lease_to_another, writing
from tests.shared import KEY, published_keys, shared_entry

pytestmark = pytest.mark.anyio

SOON, DUE = timedelta(seconds=4.9), timedelta(seconds=5)


@dataclass
class Asked:
    """Counts how often publication was asked for later."""

    times: int = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def later() -> Asked:
    return Asked()


@pytest.fixture
async def known(fleet: Fleet, later: Asked) -> Fleet:
    """A fleet that published one entry at NOW."""
    await shared_entry(at(fleet, NOW), "basher", "sark", "iso")
    return replace(at(fleet, NOW), publish_later=later)


async def contradict(fleet: Fleet, program: str = "clu") -> None:
    known = replace(fleet, caller=Caller(program))
    await reinforce_memory(known, program, KEY, outcome="contradicted", evidence="it failed")


async def state(fleet: Fleet) -> str:
    (row,) = (await fleet.knowledge.snapshots.read()).rows
    return row.state


async def test_a_change_within_five_seconds_of_the_last_snapshot_waits(
    known: Fleet, later: Asked
) -> None:
    await contradict(at(known, NOW + SOON))
    assert (await state(known), later.times) == ("fresh", 1)
    assert [one.entry.key for one in await known.knowledge.snapshots.behind() if one.entry] == [KEY]
    await publish_if_due(at(known, NOW + DUE))
    assert (await state(known), later.times) == ("contested", 1)


async def test_a_change_after_five_seconds_is_published_in_the_same_call(
    known: Fleet, later: Asked
) -> None:
    await contradict(at(known, NOW + DUE))
    assert (await state(known), later.times) == ("contested", 0)
    assert await known.knowledge.snapshots.behind() == []


async def test_while_a_run_is_under_way_the_change_waits(known: Fleet, later: Asked) -> None:
    due = at(known, NOW + DUE)
    async with leased(due):
        await contradict(due)
        assert (await state(known), later.times) == ("fresh", 1)
    await publish_if_due(due)
    assert await state(known) == "contested"


async def test_the_next_owner_of_the_lease_publishes_all_changes(known: Fleet) -> None:
    await contradict(at(known, NOW + SOON))
    await contradict(at(known, NOW + SOON), "ram")
    await publish_now(at(known, NOW + SOON))
    assert (await state(known), await published_keys(known)) == ("retired", [])


async def test_nothing_new_is_no_new_snapshot(known: Fleet) -> None:
    before = await documents(known)
    await publish_if_due(at(known, NOW + DUE))
    assert await documents(known) == before


async def test_a_publication_that_fails_does_not_reach_the_caller(known: Fleet) -> None:
    async def fail() -> None:
        raise StoreUnavailableError("down")

    broken = interrupted(at(known, NOW + DUE), writing("snapshots"), fail)
    await contradict(broken)
    assert await state(known) == "fresh"
    await publish_if_due(at(known, NOW + DUE))
    assert await state(known) == "contested"


async def test_a_publication_that_is_overtaken_is_left_to_the_other(known: Fleet) -> None:
    due = at(known, NOW + DUE)
    overtaken = interrupted(
        due,
        writing("snapshots"),
        lambda: lease_to_another(due, MAINTAINER_LEASE, timedelta(minutes=3)),
    )
    await contradict(overtaken)
    assert await state(known) == "fresh"


async def test_a_person_waits_for_a_run_to_end(known: Fleet) -> None:
    await contradict(at(known, NOW + SOON))
    async with anyio.create_task_group() as tasks, leased(known):
        tasks.start_soon(publish_now, known)
        await anyio.wait_all_tasks_blocked()
        assert await state(known) == "fresh"
    assert await state(known) == "contested"
