"""Puts the server together: its name, its instructions for agents, its tools."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Literal, cast

from mcp.server.context import ServerMiddleware
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool

from fleet_memory import __version__
from fleet_memory.clock import clock
from fleet_memory.server.audience import CallerListing
from fleet_memory.server.background import background_work
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.instructions import instructions
from fleet_memory.server.listing import listed_tools
from fleet_memory.server.observing.log_format import set_up_logging
from fleet_memory.server.prompts import prompts
from fleet_memory.server.tool_names import RENAMED, FleetServer, ToolNames
from fleet_memory.settings import CURATION, Settings


@asynccontextmanager
async def _working(lazy: LazyFleet, settings: Settings) -> AsyncIterator[LazyFleet]:
    try:
        async with background_work(lazy, settings.maintenance_s):
            yield lazy
    finally:
        await lazy.close()


_LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


def create_server(
    settings: Settings,
    tools: Mapping[str, Sequence[Tool]] | None = None,
    *,
    owns_process: bool = False,
    middleware: Sequence[ServerMiddleware[LazyFleet]] = (),
    lazy: LazyFleet | None = None,
) -> MCPServer[LazyFleet]:
    """Return a server that is ready to run; it imports the code of its tools and opens its store at
    the first call.

    `tools` are those of every toolset; `listed_tools` unless given. Only one that `owns_process`
    sets its garbage collector. `middleware` sees every request, the first one
    first. `lazy` is the fleet of an HTTP server, which closes it; it has no stream for changes of
    its lists, which never change.
    """
    offered = listed_tools() if tools is None else tools
    set_up_logging(settings)
    now = clock(settings.now)

    toolsets = {toolset: [tool.name for tool in each] for toolset, each in offered.items()}
    server = FleetServer(
        "fleet-memory",
        title="Fleet Memory",
        version=__version__,
        instructions=instructions(settings.toolsets),
        lifespan=lambda _: _working(
            lazy or LazyFleet(settings, now, owns_process=owns_process), settings
        ),
        log_level=cast("_LogLevel", settings.log_level),
        tools=[
            tool for toolset in (*settings.toolsets, CURATION) for tool in offered.get(toolset, ())
        ],
        middleware=[*middleware, CallerListing(settings, toolsets)],
        subscriptions=False if lazy else None,
    )
    for prompt in prompts():
        server.add_prompt(prompt)
    server.tool_names = ToolNames(toolsets, settings.toolsets, RENAMED)
    return server
