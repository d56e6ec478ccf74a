"""Agents for the stories: a real MCP client with a server of its own, in a process over stdio or in
this process.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from fleet_memory.server.app import create_server
from fleet_memory.server.composition import open_store
from fleet_memory.settings import load
from fleet_memory.stores import Store
from tests import forked
from tests.bounds import HANG_S

NOWHERE = "nowhere"  # a part of the address of a store that cannot be opened


class Agent:
    """One connected client; `call` returns a tool's answer, `refused` the text of its refusal."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        answer: dict[str, Any] = result.structured_content
        return answer

    async def refused(self, tool: str, **arguments: object) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        return "".join(block.text for block in result.content if block.type == "text")


@asynccontextmanager
async def agent(
    store: str, *, now: str, program: str | None = None, embedder: str = "minilm"
) -> AsyncIterator[Agent]:
    """Serve `store` with every tool from a process of its own, its clock starting at `now`;
    `program` binds it.
    """
    with anyio.fail_after(HANG_S):
        async with Client(
            served([*forked.words(), "serve"], _settings(store, now, program, embedder))
        ) as client:
            yield Agent(client)


@asynccontextmanager
async def local_agent(
    store: str, *, now: str, program: str | None = None, embedder: str = "minilm"
) -> AsyncIterator[Agent]:
    """Like `agent`, but serve from this process: the same tools and schemas in a tenth of the
    time.
    """
    with anyio.fail_after(HANG_S):
        async with Client(
            create_server(load({}, _settings(store, now, program, embedder)))
        ) as client:
            yield Agent(client)


def _settings(store: str, now: str, program: str | None, embedder: str) -> dict[str, str]:
    bound = {"FLEET_MEMORY_PROGRAM": program} if program else {}
    settings = {
        "FLEET_MEMORY_STORE": store,
        "FLEET_MEMORY_NOW": now,
        "FLEET_MEMORY_EMBEDDER": embedder,
    }
    return settings | {"FLEET_MEMORY_TOOLSETS": "all"} | bound


def served(words: Sequence[str], settings: Mapping[str, str]) -> StdioServerParameters:
    """Return the command that starts a server with these settings and no others."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")
    }
    return StdioServerParameters(
        command=words[0], args=list(words[1:]), env={**inherited, **settings}
    )


@asynccontextmanager
async def opened(address: str) -> AsyncIterator[Store]:
    """Open the store at an address as `fleet-memory doctor store` does."""
    store = open_store(load({"store": address}, {}).store)
    try:
        yield store
    finally:
        await store.close()
