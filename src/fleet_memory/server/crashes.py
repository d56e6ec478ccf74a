"""The words of a call that failed for no reason of the caller's."""

from mcp.server.mcpserver.exceptions import UnexpectedToolError


def crashed(name: str) -> UnexpectedToolError:
    """Return the error of a tool; mcp logs the traceback of its cause, which the caller does not
    see.
    """
    return UnexpectedToolError(
        f"internal: {name} failed inside the server; call again; the operator finds the cause "
        "in the server's log"
    )
