"""Serves as `fleet-memory serve` does, with two more tools: the rulers of web_calls.py."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool as McpTool

from fleet_memory.cli import main
from fleet_memory.fleet import Tool
from fleet_memory.rules.text.keys import digest
from fleet_memory.rules.text.vectors import packed
from fleet_memory.server import app
from fleet_memory.server.composition import LazyFleet, installed_toolsets
from fleet_memory.server.http import app as door
from fleet_memory.server.registration import registered
from fleet_memory.stores import ABSENT, Json, Ref, Write


async def nothing(text: str) -> str:
    """Return the text."""
    return text


async def embed_and_commit(text: str, evidence: str, context: Context[LazyFleet, Any]) -> str:
    """Make both texts' vectors and write all as a new document: the least that a store with meaning
    has to do.
    """
    fleet = await context.request_context.lifespan_context.fleet()
    first, second = map(packed, await fleet.embedder.vectors([text, evidence]))
    fields: dict[str, Json] = {
        "text": text,
        "evidence": evidence,
        "vector": first,
        "second": second,
    }
    await fleet.programs.store.commit(Write(Ref("rulers", digest(text)), fields, ABSENT))
    return text


def serve(arguments: list[str]) -> int:
    """Serve; `arguments` are those of the command."""
    functions: list[Callable[..., Any]] = [nothing, embed_and_commit]
    rulers = [Tool(each, "Ruler", "ruler", "writes", "shared") for each in functions]
    core, *others = installed_toolsets()
    with_rulers = replace(core, tools=(*core.tools, *rulers))
    vars(app)["registered"] = lambda tool: (
        McpTool.from_function(tool.function) if tool in rulers else registered(tool)
    )
    vars(door)["create_server"] = partial(app.create_server, toolsets=[with_rulers, *others])
    return main(["serve", *arguments])


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
