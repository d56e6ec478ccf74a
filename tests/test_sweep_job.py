"""Maintenance as a job: what faded is archived, agents that write meanwhile come first, and one run at a time."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.errors import ConflictError, LeaseLostError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.fenced_writer import MAINTENANCE_LEASE
from fleet_memory.jobs.maintenance import Maintained, maintain_fleet, rehearse_maintenance
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.stores import Ref, Write
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.reinforce_memory import reinforce_memory
from tests.fleets import FLEET, NOW, at, documents, interrupted, learn, lease_to_another, writing

pytestmark = pytest.mark.anyio

FADED = NOW + timedelta(days=181)  # what was learnt at NOW is prunable
CLAIM = "Check that a task is still free before you claim it"
KEY = knowledge_key("tasks", CLAIM)
SNAPSHOT = Ref(f"fleets/{FLEET}/snapshots", "s0")


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def maintain(fleet: Fleet, *, rebuild: bool = False) -> Maintained:
    return await maintain_fleet(fleet, no_progress, rebuild=rebuild)


def archived(done: Maintained) -> list[str]:
    return sorted(f"{one.program_id}/{one.pattern_id}" for one in done.archived)


async def known(fleet: Fleet) -> None:
    """Make a lesson of basher and sark knowledge."""
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    assert (await maintain(fleet)).promoted == (KEY,)


async def contradict(fleet: Fleet, *critics: str) -> None:
    for critic in critics:
        await reinforce_memory(fleet, critic, KEY, outcome="contradicted", evidence="It failed")


async def booted(fleet: Fleet) -> list[str]:
    return [entry.key for entry in (await gsp_bootstrap(fleet, "newcomer")).knowledge]


async def test_a_program_that_is_written_at_that_moment_is_left_to_the_next_sweep(fleet: Fleet) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, f"Lesson of {program}")
    later = at(fleet, FADED)
    meanwhile = interrupted(later, writing("archive"), lambda: learn(later, "basher", "Learnt late", id_="new"))
    assert archived(await maintain(meanwhile)) == ["sark/mine"]
    assert sorted((await fleet.programs.read("basher")).patterns) == ["mine", "new"]
    assert archived(await maintain(later)) == ["basher/mine"]
    assert sorted((await fleet.programs.read("basher")).patterns) == ["new"]


async def test_a_run_that_loses_its_lease_archives_nothing(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    before = await documents(fleet)
    later = at(fleet, FADED)
    overtaken = interrupted(
        later, writing("archive"), lambda: lease_to_another(later, MAINTENANCE_LEASE, timedelta(hours=1))
    )
    with pytest.raises(LeaseLostError, match="taken over"):
        await maintain(overtaken)
    assert await documents(fleet) == before


async def test_while_another_run_has_the_lease_nothing_is_written(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    later = at(fleet, FADED)
    await lease_to_another(later, MAINTENANCE_LEASE)
    before = await documents(fleet)
    with pytest.raises(ConflictError, match="Another maintenance"):
        await maintain(later)
    assert await documents(fleet) == before


async def test_a_rehearsal_says_what_a_run_would_do_and_writes_nothing(fleet: Fleet) -> None:
    for number in range(6):  # more than are looked at together
        await learn(fleet, f"program-{number}", f"Lesson {number}")
    later = at(fleet, FADED)
    for program in ("basher", "sark"):
        await learn(later, program, CLAIM)
    before = await documents(fleet)
    rehearsed = await rehearse_maintenance(later, no_progress)
    assert await documents(fleet) == before
    assert rehearsed.dry_run
    assert replace(rehearsed, dry_run=False) == await maintain(later)
    assert archived(rehearsed) == [f"program-{number}/mine" for number in range(6)]


async def test_a_lesson_in_an_entry_stays_until_the_entry_retires(fleet: Fleet) -> None:
    await known(fleet)
    later = at(fleet, FADED)
    assert archived(await maintain(later)) == []
    await contradict(later, "iso", "clu")
    assert archived(await maintain(later)) == ["basher/mine", "sark/mine"]


async def test_a_contributor_that_is_written_at_that_moment_is_followed_up_by_the_next_sweep(fleet: Fleet) -> None:
    await known(fleet)
    later = at(fleet, FADED)
    await contradict(later, "iso", "clu")
    meanwhile = interrupted(later, writing("archive"), lambda: learn(later, "basher", "Learnt late", id_="new"))
    assert archived(await maintain(meanwhile)) == ["sark/mine"]
    assert archived(await maintain(later)) == ["basher/mine"]


async def test_a_young_lesson_in_a_retired_entry_is_archived_when_its_time_comes(fleet: Fleet) -> None:
    await known(fleet)
    await contradict(fleet, "iso", "clu")
    assert archived(await maintain(fleet)) == []
    assert archived(await maintain(at(fleet, FADED))) == ["basher/mine", "sark/mine"]


@pytest.mark.parametrize("damage", ["lost", "older"])
async def test_a_rebuild_shows_every_entry_to_boot_again(fleet: Fleet, damage: str) -> None:
    await learn(fleet, "iso", "Rotate the log files once a day", domain="logs")
    await maintain(fleet)
    (older,) = await fleet.knowledge.store.get(SNAPSHOT)
    await known(fleet)
    assert await booted(fleet) == [KEY]
    assert older is not None
    await fleet.knowledge.store.commit(Write(SNAPSHOT, older.fields if damage == "older" else None))
    assert await booted(fleet) == []
    assert (await rehearse_maintenance(fleet, no_progress, rebuild=True)).renewed == 1
    assert await booted(fleet) == []
    assert (await maintain(fleet, rebuild=True)).renewed == 1
    assert await booted(fleet) == [KEY]
    assert (await maintain(fleet, rebuild=True)).renewed == 0


async def test_a_lesson_is_archived_the_moment_after_its_last_day(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    assert archived(await maintain(at(fleet, NOW + timedelta(days=180)))) == []
    assert archived(await maintain(at(fleet, NOW + timedelta(days=180, seconds=1)))) == ["basher/mine"]
