"""A thin MCP server in front of agent-cerebro, which has none; peers.py runs it in that package's
environment.
"""

import importlib
import os
from pathlib import Path

from mcp.server.mcpserver import MCPServer

ROLE, CATEGORY = "agent", "lessons"

Path(os.environ["AGENT_CEREBRO_HOME"]).mkdir(parents=True, exist_ok=True)
agentrecall = importlib.import_module("agentrecall")  # is installed in that environment only
memories, searcher = agentrecall.MemoryStore(), agentrecall.MemorySearch()
server = MCPServer("agent-cerebro")


@server.tool()
async def store(text: str) -> str:
    """Store a text."""
    return str(memories.store(ROLE, CATEGORY, text)["id"])


@server.tool()
async def search(query: str, limit: int) -> str:
    """Return the texts that fit best, one a line."""
    return "\n".join(searcher.search(ROLE, CATEGORY, query, limit=limit))


server.run()
