"""A fleet over HTTP: fifty agents at once lose nothing, and get no error but a conflict that they
may repeat.
"""

from collections.abc import Mapping
from typing import Any, Literal

import anyio
import pytest
from agents import Agent
from mcp.types import TextContent
from web_agents import tokens_of, web_agent

from tests.bounds import HANG_S
from tests.http_server import http_server

pytestmark = pytest.mark.anyio

AGENTS = 50
PROGRAMS = 10  # five agents of each store into one document
STORES_EACH = 4
RETRYABLE = "(retryable)"
MAX_TRIES = 20


def lesson(name: str) -> dict[str, object]:
    return {
        "id": name,
        "pattern": f"Lesson {name}",
        "domain": "claims",
        "confidence": 0.8,
        "evidence": "seen",
    }


async def repeated(agent: Agent, tool: str, **arguments: object) -> Mapping[str, Any]:  # Any: JSON
    """Call a tool again while it answers with an error that may be repeated; fail for any other."""
    for _ in range(MAX_TRIES):
        result = await agent.client.call_tool(tool, arguments)
        if not result.is_error:
            assert result.structured_content is not None
            answer: Mapping[str, Any] = result.structured_content  # Any: as above
            return answer
        (block,) = result.content
        assert isinstance(block, TextContent)
        assert block.text.startswith("conflict: "), block.text
        assert block.text.endswith(RETRYABLE), block.text
    raise AssertionError(f"{tool} conflicts for ever")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_stores_and_recalls_in_both_eras(
    store_address: str, mode: Literal["auto", "legacy"]
) -> None:
    [token] = await tokens_of(store_address, ["basher"])
    with http_server(store_address) as server:
        async with web_agent(server.url, token, mode=mode) as agent:
            assert (await agent.call("store_memory", programId="basher", pattern=lesson("one")))[
                "status"
            ] == "created"
            recalled = await agent.call("recall_memory", programId="basher", query="lesson")
            assert [each["pattern"] for each in recalled["patterns"]] == ["Lesson one"]
            refused = await agent.refused("store_memory", programId="iso", pattern=lesson("one"))
            assert refused.startswith("forbidden: ")


async def test_fifty_agents_store_and_recall_at_once_and_nothing_is_lost(
    store_address: str,
) -> None:
    programs = [f"program-{number % PROGRAMS}" for number in range(AGENTS)]
    tokens = await tokens_of(store_address, programs)
    acknowledged: dict[str, set[str]] = {program: set() for program in programs}

    async def work(number: int) -> None:
        program = programs[number]
        async with web_agent(server.url, tokens[number]) as agent:
            for count in range(STORES_EACH):
                name = f"{number}-{count}"
                stored = await repeated(
                    agent, "store_memory", programId=program, pattern=lesson(name)
                )
                assert stored["status"] in ("created", "unchanged")
                acknowledged[program].add(name)
                recalled = await repeated(
                    agent, "recall_memory", programId=program, query=f"Lesson {name}", limit=100
                )
                assert name in {each["id"] for each in recalled["patterns"]}

    with http_server(store_address) as server, anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as together:
            for number in range(AGENTS):
                together.start_soon(work, number)
        kept = {}
        for program, token in zip(programs[:PROGRAMS], tokens[:PROGRAMS], strict=True):
            async with web_agent(server.url, token) as agent:
                answer = await agent.call(
                    "recall_memory", programId=program, limit=100, maxTokens=100_000
                )
                kept[program] = {each["id"] for each in answer["patterns"]}
    assert kept == acknowledged
    assert sum(map(len, kept.values())) == AGENTS * STORES_EACH
