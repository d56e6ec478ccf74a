"""Real servers keep one memory in order: each run is done by one of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from agents import Agent, opened, served
from mcp import Client
from settling import look_again

from fleet_memory.jobs.publishing import MAINTAINER_LEASE
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.runs import LeaseClaim
from fleet_memory.stores import Query, Store
from tests import forked
from tests.bounds import HANG_S
from tests.http_server import http_server

pytestmark = pytest.mark.anyio

LEASE = FleetPaths("default").lease(MAINTAINER_LEASE)
MINUTES = 0.01


@asynccontextmanager
async def maintaining(address: str) -> AsyncIterator[Agent]:
    """Serve with maintenance every 0.6 seconds."""
    settings = {"FLEET_MEMORY_STORE": address, "FLEET_MEMORY_EMBEDDER": "lexical"}
    settings |= {"FLEET_MEMORY_MAINTENANCE": str(MINUTES)}
    async with Client(served([*forked.words(), "serve"], settings)) as client:
        one = Agent(client)
        await one.call("memory_health", programId="basher")  # in use from here on
        yield one


async def claim(store: Store) -> LeaseClaim:
    (document,) = await store.get(LEASE)
    assert document is not None
    return LeaseClaim.from_fields(document.fields)


async def test_of_two_servers_one_does_each_run(store_address: str) -> None:
    with anyio.fail_after(HANG_S):
        async with (
            opened(store_address) as store,
            maintaining(store_address),
            maintaining(store_address),
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
    store_address: str,
) -> None:
    with anyio.fail_after(HANG_S):
        async with maintaining(store_address) as one:
            for program in ("basher", "sark"):
                pattern = {
                    "pattern": "Shared",
                    "domain": "d",
                    "confidence": 0.8,
                    "evidence": f"{program} saw it fail twice",
                }
                await one.call("store_memory", programId=program, pattern=pattern)
            while not (await one.call("gsp_bootstrap", agentId="iso"))["knowledge"]:
                await look_again()
        async with opened(store_address) as store:
            told = await store.find(Query("fleets/default/ledger"))
        assert [(line.fields["event"], line.fields["by"]) for line in told] == [
            ("promoted", "maintainer")
        ]
