"""A server keeps its memory in order by itself: quietly, not before it is used, and in spite of
failures.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.maintenance import maintain_if_due
from fleet_memory.jobs.publishing import MAINTAINER_LEASE
from fleet_memory.repositories.runs import take
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.server.app import background_work
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import Settings
from fleet_memory.stores import Query, Ref, Write
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from tests.bounds import HANG_S
from tests.shared import KEY, shared_entry

pytestmark = pytest.mark.anyio

LEARNT = datetime(2026, 3, 1, tzinfo=UTC)
OFTEN_S = 0.01
HOUR_S = 3_600.0
LAST = Ref("fleets/default/maintenance", "run")


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = LEARNT

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def lazy(settings: Settings, clock: Clock) -> AsyncIterator[LazyFleet]:
    lazy = LazyFleet(settings, clock)
    with anyio.fail_after(HANG_S):
        yield lazy
        await lazy.close()


async def learn(fleet: Fleet, program: str, name: str) -> None:
    await store_memory(
        fleet,
        program,
        NewPattern(
            pattern=name,
            domain="d",
            confidence=0.5,
            evidence=f"{program} saw it fail twice",
            id=name,
        ),
    )


@asynccontextmanager
async def in_use(lazy: LazyFleet, every_s: float = OFTEN_S) -> AsyncIterator[Fleet]:
    async with background_work(lazy, every_s, OFTEN_S):
        yield await lazy.fleet()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():
        await anyio.lowlevel.checkpoint()


async def noted(fleet: Fleet) -> bool:
    return (await fleet.last_runs.read()).value.at == fleet.now()


async def has_entries(fleet: Fleet) -> bool:
    return bool((await fleet.knowledge.snapshots.read()).rows)


async def test_an_idle_client_opens_no_store(lazy: LazyFleet, tmp_path: Path) -> None:
    async with background_work(lazy, OFTEN_S):
        await anyio.wait_all_tasks_blocked()
        assert not (tmp_path / "memory.db").exists()


async def test_agreeing_lessons_are_promoted_without_a_call(
    lazy: LazyFleet,
) -> None:
    fleet = await lazy.fleet()
    await learn(fleet, "basher", "shared")
    await learn(fleet, "sark", "shared")
    async with in_use(lazy):
        await until(lambda: has_entries(fleet))
    assert [row.contributors for row in (await fleet.knowledge.snapshots.read()).rows] == [
        ("basher", "sark")
    ]


async def test_recent_maintenance_of_another_server_is_not_repeated(
    lazy: LazyFleet, clock: Clock
) -> None:
    fleet = await lazy.fleet()
    assert await maintain_if_due(fleet, HOUR_S) == HOUR_S
    clock.now += timedelta(minutes=20)
    await learn(fleet, "basher", "shared")
    await learn(fleet, "sark", "shared")
    assert await maintain_if_due(fleet, HOUR_S) == 2 * HOUR_S / 3
    assert not await has_entries(fleet)
    clock.now += timedelta(minutes=40)
    assert await maintain_if_due(fleet, HOUR_S) == HOUR_S
    assert await has_entries(fleet)


async def test_a_change_that_had_to_wait_is_published_when_its_server_ends(lazy: LazyFleet) -> None:
    async with background_work(lazy, 0, HOUR_S):
        fleet = await lazy.fleet()
        await shared_entry(fleet, "basher", "sark", "iso")
        await reinforce_memory(fleet, "clu", KEY, outcome="contradicted", evidence="it failed")
        assert await states(fleet) == ["fresh"]
    assert await states(fleet) == ["contested"]


async def test_a_delayed_change_is_published_also_without_maintenance(
    lazy: LazyFleet, clock: Clock
) -> None:
    fleet = await lazy.fleet()
    await shared_entry(fleet, "basher", "sark", "iso")
    async with in_use(lazy, every_s=0):
        await reinforce_memory(fleet, "clu", KEY, outcome="contradicted", evidence="it failed")
        assert await states(fleet) == ["fresh"]
        clock.now += timedelta(seconds=5)
        await until(lambda: has_state(fleet, "contested"))


async def states(fleet: Fleet) -> list[str]:
    return [row.state for row in (await fleet.knowledge.snapshots.read()).rows]


async def has_state(fleet: Fleet, state: str) -> bool:
    return await states(fleet) == [state]


async def test_off_means_never(lazy: LazyFleet) -> None:
    async with in_use(lazy, every_s=0) as fleet:
        await anyio.wait_all_tasks_blocked()
        assert await fleet.knowledge.store.get(LAST) == [None]


async def test_a_note_from_the_future_delays_nothing(lazy: LazyFleet, clock: Clock) -> None:
    fleet = await lazy.fleet()
    ahead = clock.now + timedelta(days=1_000)
    await fleet.knowledge.store.commit(Write(LAST, {"at": ahead.isoformat(), "run": 0}))
    assert await maintain_if_due(fleet, HOUR_S) == HOUR_S
    assert await noted(fleet)


async def test_a_run_that_fails_is_logged_and_tried_again(
    lazy: LazyFleet, caplog: pytest.LogCaptureFixture
) -> None:
    fleet = await lazy.fleet()
    await fleet.knowledge.store.commit(Write(LAST, {"at": "garbage", "run": 0}))
    async with in_use(lazy):
        await until(lambda: _said(caplog, "maintenance failed and will be tried again"))
        await learn(fleet, "basher", "own")  # the tools go on
        await fleet.knowledge.store.commit(Write(LAST, None))
        await until(lambda: noted(fleet))


async def _said(caplog: pytest.LogCaptureFixture, text: str) -> bool:
    return any(
        record.getMessage().startswith(text) and record.levelno >= logging.WARNING
        for record in caplog.records
    )


async def test_while_another_runs_it_writes_nothing(lazy: LazyFleet, clock: Clock) -> None:
    fleet = await lazy.fleet()
    store, lease = fleet.knowledge.store, fleet.knowledge.paths.lease(MAINTAINER_LEASE)
    assert await take(store, lease, "another", now=clock.now, ttl_s=60)
    before = await store.get(lease)
    assert await maintain_if_due(fleet, HOUR_S) == HOUR_S
    assert await store.get(lease) == before
    assert await store.find(Query("fleets/default/maintenance")) == []
    clock.now += timedelta(minutes=2)  # that one died
    await maintain_if_due(fleet, HOUR_S)
    assert await noted(fleet)


async def test_a_server_that_may_not_read_so_large_a_fleet_leaves_it_to_others(
    lazy: LazyFleet,
) -> None:
    fleet = await lazy.fleet()
    await learn(fleet, "basher", "own")
    assert await maintain_if_due(replace(fleet, max_programs_read=0), HOUR_S) == HOUR_S
    assert await fleet.knowledge.store.get(LAST) == [None]
