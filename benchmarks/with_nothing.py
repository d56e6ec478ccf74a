"""Serves as `fleet-memory serve` does, with one more tool, which does nothing: the ruler of web_calls.py."""

import sys
from functools import partial

from mcp.server.mcpserver.tools import Tool

from fleet_memory.cli import main
from fleet_memory.server import app
from fleet_memory.server.http import app as door
from fleet_memory.server.listing import listed_tools


async def nothing(text: str) -> str:
    """Return the text."""
    return text


def serve(arguments: list[str]) -> int:
    """Serve; `arguments` are those of the command."""
    tools = {**listed_tools()}
    tools["core"] = [*tools["core"], Tool.from_function(nothing)]
    vars(door)["create_server"] = partial(app.create_server, tools=tools)
    return main(["serve", *arguments])


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
