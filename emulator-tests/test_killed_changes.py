"""A process that is killed in a verdict, a word, a run of maintenance or a publication: each commit
whole or absent.
"""

import os
import random
import subprocess
import time
from functools import partial
from pathlib import Path

import anyio
import pytest
from agents import opened
from anyio import to_thread
from changes import CHANGES, LATER, Change, at, maintain
from fleets import fleet_on
from invariants import broken, differences, meaning
from kills import KILLS, MAX_KILLS
from settling import settled

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.stores import Store
from tests import forked
from tests.bounds import HANG_S
from tests.fleets import unshown

pytestmark = [pytest.mark.anyio, pytest.mark.kills]

CHILD = Path(__file__).parent / "children" / "change.py"


def killed_after(address: str, fleet_id: str, name: str, seconds: float | None) -> float | None:
    """Carry out a change in a process that is killed so many seconds after it began; return how
    long it took.

    None when it was killed before it ended.
    """
    command = forked.script(CHILD, address, fleet_id, name)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:  # noqa: S603 - ours
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        began = time.perf_counter()
        if seconds is not None:
            time.sleep(seconds)
            child.kill()
        ended = child.stdout.readline() == b"done\n"
        took_s = time.perf_counter() - began
    assert ended or seconds is not None, "it failed"
    return took_s if ended else None


def require_readable(address: str, fleet_id: str) -> None:
    """Have a fresh process decode every document."""
    settings = {
        "FLEET_MEMORY_STORE": address,
        "FLEET_MEMORY_FLEET": fleet_id,
        "FLEET_MEMORY_EMBEDDER": "lexical",
    }
    command = [*forked.words(), "doctor", "store"]
    found = subprocess.run(  # noqa: S603
        command, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


async def repeated(fleet: Fleet, change: Change) -> dict[str, object]:
    """Carry out a change once more, and maintain the fleet; return the content of its documents."""
    later = at(fleet, LATER)
    await change.carry_out(later)
    await maintain(later)
    assert await broken(fleet) == []
    await maintain_fleet(later, no_progress, rebuild=True)
    assert await unshown(later) == [], "boot reads other entries"
    return await meaning(fleet)


async def undisturbed(store: Store, address: str, name: str) -> tuple[dict[str, object], float]:
    """Return the content after a change in a process that is not killed, and how long it takes."""
    fleet = fleet_on(store, fleet_id="undisturbed")
    await CHANGES[name].prepare(fleet)
    took_s = await to_thread.run_sync(killed_after, address, "undisturbed", name, None)
    assert took_s is not None
    return await repeated(fleet, CHANGES[name]), took_s


@pytest.mark.parametrize("name", CHANGES)
async def test_a_killed_change_is_whole_or_absent_and_repeating_it_makes_it_whole(
    store_address: str, name: str
) -> None:
    chance = random.Random(50)  # noqa: S311 - chooses when to kill
    left: list[dict[str, object]] = []
    kills = 0
    async with opened(store_address) as store:
        with anyio.fail_after(HANG_S):
            expected, took_s = await undisturbed(store, store_address, name)
            while kills < KILLS or (len(left) < 2 and kills < MAX_KILLS):
                fleet_id = f"fleet-{kills}-{chance.randrange(10**6)}"
                fleet = fleet_on(store, fleet_id=fleet_id)
                await CHANGES[name].prepare(fleet)
                moment_s = chance.uniform(0, took_s)
                if (
                    await to_thread.run_sync(killed_after, store_address, fleet_id, name, moment_s)
                    is not None
                ):
                    continue
                kills += 1
                seen = await settled(partial(meaning, fleet))
                left += [seen] if seen not in left else []
                assert await broken(fleet) == []
                await to_thread.run_sync(require_readable, store_address, fleet_id)
                assert differences(await repeated(fleet, CHANGES[name]), expected) == []
    assert len(left) > 1, "all the kills came before the first commit, or after the last"
