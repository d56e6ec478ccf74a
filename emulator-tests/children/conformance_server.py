"""Serve as `fleet-memory serve` does, with the tools and prompts that the conformance suite calls
besides.

`python conformance_server.py --http 127.0.0.1:0`: the arguments are those of `serve`. Names are the
suite's.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool as McpTool
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    MissingRequiredClientCapabilityErrorData,
    SamplingCapability,
)

from fleet_memory.cli import main
from fleet_memory.fleet import PromptTask, Tool
from fleet_memory.server import app
from fleet_memory.server.composition import installed_toolsets
from fleet_memory.server.http import app as door
from fleet_memory.server.registration import registered


async def simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


async def failing() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


async def with_progress(context: Context[Any, Any]) -> str:  # Any: of no concern here
    """Report progress three times."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100)
        await anyio.lowlevel.checkpoint()
    return "Done"


async def needs_sampling(context: Context[Any, Any]) -> str:  # Any: as above
    """Refuse a client that declares no sampling."""
    declared = context.session.client_capabilities
    if declared and declared.sampling:
        return "The client declares sampling."
    needed = MissingRequiredClientCapabilityErrorData(
        required_capabilities=ClientCapabilities(sampling=SamplingCapability())
    )
    data = needed.model_dump(by_alias=True, mode="json", exclude_none=True)
    raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "The client declares no sampling.", data)


async def greeting() -> str:
    """Return a prompt."""
    return "This is a simple prompt for testing."


async def with_arguments(arg1: str, arg2: str) -> str:
    """Return a prompt with its arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


TOOLS: Final[dict[str, Callable[..., Any]]] = {  # Any: the arguments and answers of different tools
    "test_simple_text": simple_text,
    "test_error_handling": failing,
    "test_tool_with_progress": with_progress,
    "test_missing_capability": needs_sampling,
}
PROMPTS: Final[dict[str, Callable[..., Any]]] = {  # Any: as above
    "test_simple_prompt": greeting,
    "test_prompt_with_arguments": with_arguments,
}


def serve(arguments: list[str]) -> int:
    """Serve as `fleet-memory serve` does, with the suite's tools and prompts."""
    for name, function in {**TOOLS, **PROMPTS}.items():
        function.__name__ = name
    tools = [Tool(function, "Suite", "suite", "writes", "shared") for function in TOOLS.values()]
    prompts = [PromptTask(function, "Suite", "Suite") for function in PROMPTS.values()]
    core, *others = installed_toolsets()
    suite = replace(core, tools=(*core.tools, *tools), prompts=(*core.prompts, *prompts))
    vars(app)["registered"] = lambda tool: (
        McpTool.from_function(tool.function) if tool in tools else registered(tool)
    )
    vars(door)["create_server"] = partial(app.create_server, toolsets=[suite, *others])
    return main(["serve", *arguments])


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
