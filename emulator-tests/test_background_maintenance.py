"""Real servers keep one memory in order: each run is done by one of them, and survives the end of
the server.
"""

import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest
from agents import Agent, opened, served
from fleets import NOW, fleet_on, learn
from mcp import Client, MCPError
from settling import look_again, settled

from fleet_memory.jobs.fenced_writer import MAINTAINER_LEASE
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.runs import LeaseClaim
from fleet_memory.stores import Query, Store
from tests import forked
from tests.bounds import HANG_S
from tests.http_server import http_server

pytestmark = pytest.mark.anyio

LEASE = FleetPaths("default").lease(MAINTAINER_LEASE)
MINUTES = 0.01
FADED = NOW + timedelta(days=181)
PROGRAMS = [f"program-{n}" for n in range(60)]
MANY = [
    f"program-{n}" for n in range(300)
]  # a file is swept so fast that 60 are done before a busy test looks again


@asynccontextmanager
async def maintaining(address: str, pid: Path, now: datetime | None = None) -> AsyncIterator[Agent]:
    """Serve with maintenance every 0.6 seconds; without `now` by the machine's clock."""
    settings = {"FLEET_MEMORY_STORE": address, "FLEET_MEMORY_EMBEDDER": "lexical"}
    settings |= {"FLEET_MEMORY_MAINTENANCE": str(MINUTES), "PID_FILE": str(pid)} | (
        {"FLEET_MEMORY_NOW": now.isoformat()} if now else {}
    )
    async with Client(served([*forked.words(), "serve"], settings)) as client:
        one = Agent(client)
        await one.call("memory_health", programId=PROGRAMS[0])  # in use from here on
        yield one


async def archived(store: Store) -> int:
    return len(await store.find(Query("fleets/default/archive")))


async def until_archived(store: Store, count: int) -> None:
    while await archived(store) < count:
        await look_again()


async def claim(store: Store) -> LeaseClaim:
    (document,) = await store.get(LEASE)
    assert document is not None
    return LeaseClaim.from_fields(document.fields)


async def places(store: Store, names: Sequence[str]) -> list[str]:
    """List the program of each lesson once for every place that has it: the program itself, the
    archive.
    """
    programs = await fleet_on(store).programs.read_versioned(*names)
    archive = await store.find(Query("fleets/default/archive"))
    active = [versioned.program.program_id for versioned in programs if versioned.program.patterns]
    return sorted([*active, *(str(document.fields["programId"]) for document in archive)])


async def require_each_lesson_in_one_place(store: Store, names: Sequence[str]) -> None:
    """Fail if a lesson is both in its program and in the archive, or in neither."""
    assert await settled(partial(places, store, names)) == sorted(names)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_a_server_that_ends_within_a_run_leaves_the_rest_to_the_next(
    store_address: str, tmp_path: Path, end: signal.Signals
) -> None:
    names = MANY if store_address.endswith(".db") else PROGRAMS
    with anyio.fail_after(HANG_S):
        async with opened(store_address) as store:
            for program in names:
                await learn(fleet_on(store), program, "old")
            try:
                async with maintaining(store_address, tmp_path / "one", FADED):
                    server = int(await anyio.Path(tmp_path / "one").read_text())
                    await until_archived(store, 3)
                    os.kill(server, end)
            except* MCPError:
                pass  # the connection ended with the server, as it was meant to
            await require_each_lesson_in_one_place(store, names)
            assert await archived(store) < len(names), "the run was over before the server was"
            released = (await claim(store)).until < FADED
            assert released == (
                end == signal.SIGTERM
            )  # a server that is asked to stop releases the lease
            now = (
                FADED if released else FADED + timedelta(hours=1)
            )  # when the lease of the dead has ended
            async with maintaining(store_address, tmp_path / "two", now):
                await until_archived(store, len(names))
            await require_each_lesson_in_one_place(store, names)


async def test_of_two_servers_one_does_each_run(store_address: str, tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with (
            opened(store_address) as store,
            maintaining(store_address, tmp_path / "one"),
            maintaining(store_address, tmp_path / "two"),
        ):
            await require_each_run_by_one(store)


async def test_of_two_replicas_over_http_one_does_each_run_before_anybody_calls(
    store_address: str,
) -> None:
    often = {"FLEET_MEMORY_MAINTENANCE": str(MINUTES)}
    with (
        anyio.fail_after(HANG_S),
        http_server(store_address, "--no-tokens", env=often),
        http_server(store_address, "--no-tokens", env=often),
    ):
        async with opened(store_address) as store:
            await require_each_run_by_one(store)


async def require_each_run_by_one(store: Store) -> None:
    """Fail if two servers that maintain a store do more runs than one would."""
    runs = 8
    await until_taken(store, 1)
    began, first = anyio.current_time(), (await claim(store)).fence
    await until_taken(store, first + runs)
    passed_s = anyio.current_time() - began
    # Two that each did their own would have done twice as many. A lost race is a taking without a
    # run: one is excused.
    assert runs <= 2 + passed_s / (MINUTES * 60)


async def until_taken(store: Store, fence: int) -> None:
    while await store.get(LEASE) == [None] or (await claim(store)).fence < fence:
        await look_again()


async def test_a_lesson_of_two_programs_is_promoted_by_itself(
    store_address: str, tmp_path: Path
) -> None:
    with anyio.fail_after(HANG_S):
        async with maintaining(store_address, tmp_path / "one") as one:
            for program in ("basher", "sark"):
                pattern = {"pattern": "Shared", "domain": "d", "confidence": 0.8, "evidence": ""}
                await one.call("store_memory", programId=program, pattern=pattern)
            while not (await one.call("gsp_bootstrap", agentId="iso"))["knowledge"]:
                await look_again()
        async with opened(store_address) as store:
            told = await store.find(Query("fleets/default/ledger"))
        assert [(line.fields["event"], line.fields["by"]) for line in told] == [
            ("promoted", "maintainer")
        ]
