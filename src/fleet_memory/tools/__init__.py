"""One module per MCP tool, named for the tool."""
