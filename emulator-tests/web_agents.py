"""Agents that reach a server over HTTP, each with the token of its program."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Literal

import anyio
import httpx2
from agents import Agent, opened
from fleets import fleet_on
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from fleet_memory.jobs.tokens import NewToken, create_token
from tests.bounds import HANG_S

MAX_CONNECTIONS = 4  # of one agent
UNLIMITED = {"FLEET_MEMORY_RATE": "off"}  # for agents that call faster than any should


async def tokens_of(address: str, programs: Iterable[str]) -> list[str]:
    """Create a token for each program in the fleet's store, several for one that is named so
    often.
    """
    async with opened(address) as store:
        fleet = fleet_on(store)
        orders = [NewToken(program, is_another=True) for program in programs]
        return [(await create_token(fleet, order)).token for order in orders]


@asynccontextmanager
async def web_agent(
    url: str, token: str | None = None, *, mode: Literal["auto", "legacy"] = "auto"
) -> AsyncIterator[Agent]:
    """Connect the official client to a server, with a token where it needs one."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    limits = httpx2.Limits(max_connections=MAX_CONNECTIONS)
    with anyio.fail_after(HANG_S):
        async with (
            httpx2.AsyncClient(headers=headers, limits=limits, timeout=HANG_S) as web,
            Client(streamable_http_client(url, http_client=web), mode=mode) as client,
        ):
            yield Agent(client)
