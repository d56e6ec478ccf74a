"""Calls for the program basher, and their results."""

from typing import Any

from mcp import Client


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Return the answer of a call that must succeed."""
    result = await client.call_tool(tool, {"programId": "basher", **arguments})
    assert not result.is_error, result.content
    answer: dict[str, Any] = result.structured_content
    return answer


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    """Return the text of a call that must be refused."""
    result = await client.call_tool(tool, {"programId": "basher", **arguments})
    assert result.is_error, result.structured_content
    return "".join(block.text for block in result.content if block.type == "text")
