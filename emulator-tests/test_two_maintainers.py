"""Two maintainers in turn and at once over one store: never two at work, and the same pairs as one
would propose.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from agents import opened
from changes import BEFORE, LATER, NOW, at, maintain, store
from fleets import fleet_on
from invariants import broken, meaning
from talking import Child, child

from fleet_memory.fleet import Fleet
from tests.bounds import HANG_S

pytestmark = [pytest.mark.anyio, pytest.mark.kills]

ROUNDS = 8
THINGS = ("task", "lease", "index", "backup", "token", "queue", "shard", "cache")


async def learn(fleet: Fleet, round_: int) -> None:
    """Let three programs learn about a thing, two of them in equal words, and one about an earlier
    thing too.
    """
    then, thing = at(fleet, BEFORE + timedelta(minutes=round_)), THINGS[round_]
    earlier = THINGS[round_ // 2]
    for program, text in (
        ("basher", f"Check the {thing} before the nightly job starts"),
        ("sark", f"The nightly job starts only after somebody checked the {thing}"),
        ("iso", f"Close the {thing} when the worker has ended"),
        ("sark", f"Close the {thing} when the worker has ended"),
        ("iso", f"When the worker ended, the {earlier} must be closed by it"),
    ):
        await store(then, program, f"{thing}-{len(text)}", text)


@asynccontextmanager
async def two_maintainers(address: str, log: Path) -> AsyncIterator[list[Child]]:
    async with (
        child("maintain.py", address, "two", str(log)) as one,
        child("maintain.py", address, "two", str(log)) as other,
    ):
        yield [one, other]


async def run_both(maintainers: list[Child]) -> list[str]:
    outcomes: list[str] = []

    async def run(maintainer: Child) -> None:
        outcomes.append((await maintainer.ask()).split()[0])

    async with anyio.create_task_group() as together:
        for maintainer in maintainers:
            together.start_soon(run, maintainer)
    return outcomes


async def alone(fleet: Fleet) -> dict[str, object]:
    """Return the content after the rounds with one maintainer."""
    for round_ in range(ROUNDS):
        await learn(fleet, round_)
        await maintain(at(fleet, NOW))
    return await meaning(fleet)


@pytest.mark.parametrize("together", [False, True], ids=["in turn", "at once"])
async def test_two_maintainers_do_the_work_of_one_and_never_work_at_once(
    store_address: str, tmp_path: Path, *, together: bool
) -> None:
    log = tmp_path / "leases"
    with anyio.fail_after(HANG_S):
        async with (
            opened(store_address) as opened_store,
            two_maintainers(store_address, log) as maintainers,
        ):
            fleet = fleet_on(opened_store, NOW, "two")
            for round_ in range(ROUNDS):
                await learn(fleet, round_)
                if together:
                    outcomes = await run_both(maintainers)
                    assert "done" in outcomes
                    assert set(outcomes) <= {"done", "busy"}
                else:
                    assert await maintainers[round_ % 2].ask() == "done"
            assert await broken(fleet) == []
            seen = await meaning(fleet)
            assert seen == await alone(fleet_on(opened_store, NOW, "one"))
            await maintain(at(fleet, LATER))
            assert await meaning(fleet) == seen, "something was left to a third"
    assert seen["pairs"], "nothing was proposed"
    events = (await anyio.Path(log).read_text()).split("\n")[:-1]
    owners = [taken.removeprefix("taken ") for taken in events[::2]]
    assert events == [line for owner in owners for line in (f"taken {owner}", f"released {owner}")]
    assert len(owners) >= ROUNDS
