"""Agents of the demo: each is a real MCP client of a real server process over stdio, with a clock of its own."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from fleet_memory.errors import FleetMemoryError
from fleet_memory.schemas.value import Value

A = TypeVar("A", bound=Value)

PATIENCE_S: Final = 60.0  # seconds that one answer may take; the slowest, on a busy machine, loads the model


class Agent(NamedTuple):
    """A connected agent."""

    client: Client

    async def ask(self, answer: type[A], tool: str, **arguments: object) -> A:
        """Call a tool, arguments named as on the wire; raises FleetMemoryError with what a refusal says."""
        result = await self.client.call_tool(tool, arguments)
        if result.is_error:
            said = " ".join(block.text for block in result.content if isinstance(block, TextContent))
            raise FleetMemoryError(f"{tool} refused: {said}")
        return answer.model_validate(result.structured_content)


class Stage(NamedTuple):
    """Where the demo plays: a memory of its own that nothing else uses."""

    store: Path

    @asynccontextmanager
    async def agent(self, at: str, program: str = "") -> AsyncIterator[Agent]:
        """Start a server whose clock begins at `at`, bound to `program` unless that is empty, and connect to it."""
        environment = {name: value for name in ("PYTHONPATH",) if (value := os.environ.get(name))}
        environment |= {"FLEET_MEMORY_STORE": str(self.store), "FLEET_MEMORY_NOW": at}
        if program:
            environment["FLEET_MEMORY_PROGRAM"] = program
        server = StdioServerParameters(command=sys.executable, args=["-m", "fleet_memory", "serve"], env=environment)
        async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
            yield Agent(client)
