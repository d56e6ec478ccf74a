"""One tool call without a transport, for `fleet-memory call`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mcp import Client
from mcp.server.mcpserver.tools import Tool
from mcp.types import TextContent

from fleet_memory.server.app import create_server
from fleet_memory.settings import TOOLSETS, Settings


class Answer(NamedTuple):
    """A tool's answer: its content, or its refusal, which begins with the error's code."""

    content: dict[str, object]
    refusal: str = ""


async def call_in_process(
    settings: Settings,
    tool: str,
    arguments: dict[str, object],
    tools: Mapping[str, Sequence[Tool]] | None = None,
) -> Answer:
    """Call one tool, of any toolset, against the configured store."""
    everything = replace(
        settings, toolsets=TOOLSETS if tools is None else tuple(tools)
    )  # who calls one tool pays nothing for the others
    async with Client(create_server(everything, tools)) as client:
        result = await client.call_tool(tool, arguments)
    if result.is_error:
        return Answer(
            {}, "".join(block.text for block in result.content if isinstance(block, TextContent))
        )
    return Answer(result.structured_content or {})
