"""The tools that MCP serves, by toolset, each with its answer."""
