"""The life of a fleet on one machine: each call is a process of its own, the next one a minute
later.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client

from fleet_memory.fleet import Fleet
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings, load

START = datetime.fromisoformat("2026-03-01T09:00:00+00:00")
MINUTE = timedelta(minutes=1)

Json = dict[str, Any]  # an answer as a client reads it
_T = TypeVar("_T")


class Machine:
    """A memory file and its clock. Agents call a server that is bound to them, by default."""

    def __init__(self, folder: Path, embedder: str = "lexical") -> None:
        self.now = START
        self.store = str(folder / "life.db")
        self._embedder = embedder

    def later(self, days: float) -> None:
        self.now += timedelta(days=days)

    def settings(self, program: str | None = None) -> Settings:
        flags = {
            "store": self.store,
            "embedder": self._embedder,
            "toolsets": "all",
            "now": self.now.isoformat(),
        }
        return load(flags | ({"program": program} if program else {}), {})

    def connection(self, program: str | None = None) -> AbstractAsyncContextManager[Client]:
        """Serve the memory over one connection, bound to a program or to none."""
        return Client(create_server(self.settings(program)), raise_exceptions=False)

    async def call(self, program: str | None, tool: str, **arguments: object) -> Json:
        """Return the answer of a call that must succeed, from a process that ends with it."""
        async with self.connection(program) as client:
            answer = await called(client, tool, **arguments)
        self.now += MINUTE
        return answer

    async def people(self, work: Callable[[Fleet], Awaitable[_T]]) -> _T:
        """Act as a person does with a command."""
        result = await with_fleet(self.settings(), work)
        self.now += MINUTE
        return result

    async def store_lesson(self, program: str, text: str, **fields: object) -> Json:
        return await self.call(
            program, "store_memory", programId=program, pattern=lesson(text, program, **fields)
        )

    async def consolidate(self, program: str | None = None, **arguments: object) -> Json:
        return await self.call(program, "pattern_consolidate", **arguments)

    async def say(self, program: str, about: str, outcome: str, evidence: str = "seen") -> Json:
        words = {"patternId": about, "outcome": outcome, "evidence": evidence}
        return await self.call(program, "reinforce_memory", programId=program, **words)

    async def share(self, text: str, *programs: str, **fields: object) -> str:
        """Let programs learn the same words, and return the key of the entry that they become."""
        for program in programs:
            await self.store_lesson(program, text, **fields)
        (entry,) = (await self.consolidate())["promoted"]
        return str(entry["key"])

    async def entry(self, key: str) -> Json:
        return await self.call(None, "gsp_read", key=key)

    async def knowledge(self, newcomer: str = "newcomer", **arguments: object) -> dict[str, str]:
        """Return the texts that a newcomer boots with, each with its status."""
        answer = await self.call(newcomer, "gsp_bootstrap", agentId=newcomer, **arguments)
        return {
            entry["pattern"]: entry.get("status", "fresh") for entry in answer.get("knowledge", ())
        }


def lesson(text: str, program: str = "", **fields: object) -> Json:
    """Return a lesson as an agent sends it."""
    return {
        "pattern": text,
        "domain": "work",
        "confidence": 0.8,
        "evidence": f"{program} saw it fail twice",
        **fields,
    }


async def called(client: Client, tool: str, **arguments: object) -> Json:
    """Return the answer of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    answer: Json = result.structured_content
    return answer
