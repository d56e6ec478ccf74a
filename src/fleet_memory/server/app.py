"""Assemble the server: its name, instructions, tools, and background work, which maintains the
fleet after the first call and publishes changes that had to wait.
"""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

import anyio
from mcp import Client
from mcp.server.context import ServerMiddleware
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, GetPromptResult, InputRequiredResult, TextContent

from fleet_memory import __version__
from fleet_memory.clock import clock
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Toolset
from fleet_memory.jobs.maintenance import maintain_if_due
from fleet_memory.jobs.publishing import PUBLISH_EVERY_S, publish_if_due, publish_last
from fleet_memory.rules.text.credentials import shown
from fleet_memory.server.arguments import closest
from fleet_memory.server.audience import CallerListing, audience_of, require_served
from fleet_memory.server.composition import LazyFleet, installed_toolsets
from fleet_memory.server.observing.log import set_up_logging
from fleet_memory.server.registration import prompt_of, refused, registered
from fleet_memory.settings import CURATION, Settings

LAST_PUBLICATION_S: Final = (
    1.0  # seconds of a server's end; chosen. A change that is not published stays marked
)
FIRST_AFTER_S: Final = 60.0  # seconds from the first tool call: a short session is not slowed down


class FleetServer(MCPServer[LazyFleet]):
    """An mcp server that names the toolset of an unserved tool. `known` is set once, before it
    runs.
    """

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,  # Any: JSON; the signature is mcp's
        context: Context[LazyFleet, Any] | None = None,  # Any: as above
    ) -> GetPromptResult | InputRequiredResult:
        """See `MCPServer.get_prompt`. Raises MCPError, with the closest name, if unknown."""
        known = [prompt.name for prompt in await self.list_prompts()]
        if name not in known:
            close = closest(name, known)
            raise refused(InvalidArgumentError(f"{shown(name)}: unknown prompt, {close}"))
        return await super().get_prompt(name, arguments, context)

    known: Sequence[Toolset]

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],  # Any: JSON; the signature is mcp's
        context: Context[LazyFleet, Any] | None = None,  # Any: as above
    ) -> CallToolResult | InputRequiredResult:
        """See `MCPServer.call_tool`; an unserved tool is refused with its toolset or the closest
        name.

        Raises ToolError.
        """
        if context is not None:
            audience = audience_of(context.request_context.lifespan_context)
            try:
                require_served(name, self.known, audience.toolsets)
            except InvalidArgumentError as refusal:
                raise ToolError(f"{refusal.code}: {refusal}") from None
        return await super().call_tool(name, arguments, context)


@asynccontextmanager
async def background_work(
    lazy: LazyFleet, every_s: float, publish_every_s: float | None = None
) -> AsyncIterator[None]:
    """Maintain a fleet in the background while inside, `every_s` seconds (0 for never), and publish
    when asked to.

    Publications are `publish_every_s` seconds apart, `PUBLISH_EVERY_S` unless given. At the end it
    publishes once more if a change ever had to wait.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_publish, lazy, publish_every_s)
        if every_s:
            tasks.start_soon(_maintain, lazy, every_s)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()
            with anyio.move_on_after(LAST_PUBLICATION_S, shield=True):
                if (
                    lazy.has_waited
                ):  # the next session may begin long before a server maintains the fleet
                    await publish_last(await lazy.fleet())


async def _maintain(lazy: LazyFleet, every_s: float) -> None:
    fleet = await lazy.once_open()  # a client that calls no tool opens no store
    wait_s = min(FIRST_AFTER_S, every_s)
    while True:
        await anyio.sleep(_jittered(wait_s))
        wait_s = await maintain_if_due(fleet, every_s)


async def _publish(lazy: LazyFleet, every_s: float | None) -> None:
    """Publish changes that came too soon after the last snapshot, after one wait for all."""
    fleet = await lazy.once_open()
    while True:
        await lazy.publication_wanted()
        await anyio.sleep(_jittered(PUBLISH_EVERY_S if every_s is None else every_s))
        await publish_if_due(fleet)


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(1.0, 1.2)  # noqa: S311 - spreads servers, guards no secret


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
    toolsets: Sequence[Toolset] | None = None,
    *,
    middleware: Sequence[ServerMiddleware[LazyFleet]] = (),
    lazy: LazyFleet | None = None,
    program_of: Callable[[Path], str] | None = None,
) -> MCPServer[LazyFleet]:
    """Build a server, which opens its store at the first call.

    `toolsets` defaults to the installed ones. `middleware` sees every request, outermost first.
    `lazy` is the fleet of an HTTP server, which closes it and has no stream for changes of its
    lists. `program_of` maps the client's folder to a program for calls without one, e.g.
    `/src/shop` to `shop`; stdio only.
    """
    set_up_logging(settings)
    now = clock(settings.now)
    # admins come over HTTP alone
    served = (*settings.toolsets, CURATION) if lazy else settings.toolsets
    known = installed_toolsets() if toolsets is None else toolsets
    offered = [toolset for toolset in known if toolset.name in served]
    listing = CallerListing(settings, offered, asks_folder=program_of is not None)
    server = FleetServer(
        "fleet-memory",
        title="Fleet Memory",
        version=__version__,
        lifespan=lambda _: _working(
            lazy or LazyFleet(settings, now, program_of=program_of, toolsets=known), settings
        ),
        log_level=cast("_LogLevel", settings.log_level),
        tools=[registered(tool) for toolset in offered for tool in toolset.tools],
        middleware=[*middleware, listing],
        subscriptions=False if lazy else None,
    )
    for task in (task for toolset in offered for task in toolset.prompts):
        server.add_prompt(prompt_of(task))
    server.known = known
    return server


class Answer(NamedTuple):
    """A tool's answer: its content, or its refusal, which begins with the error's code."""

    content: dict[str, object]
    refusal: str = ""


async def call_in_process(
    settings: Settings,
    tool: str,
    arguments: dict[str, object],
    toolsets: Sequence[Toolset] | None = None,
) -> Answer:
    """Call one tool, of any toolset, against the configured store."""
    known = installed_toolsets() if toolsets is None else toolsets
    every = tuple(toolset.name for toolset in known if toolset.name != CURATION)
    async with Client(create_server(replace(settings, toolsets=every), known)) as client:
        result = await client.call_tool(tool, arguments)
    if result.is_error:
        return Answer(
            {}, "".join(block.text for block in result.content if isinstance(block, TextContent))
        )
    return Answer(result.structured_content or {})
