"""fleet-memory: an MCP server that gives fleets of AI agents a memory that lasts, fades and adds
up.
"""

__version__ = "0.3.0"
