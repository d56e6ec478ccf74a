"""The caller behind a bearer token, as the HTTP transport passes it from the door to the tools."""

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from fleet_memory.fleet import Caller
from fleet_memory.schemas.tokens import Role

UNBOUND_CONNECTION = "http"  # one for all: a restart or a replica makes no new origin


class CallerToken(AccessToken):
    """A token that was checked: the program that it binds, its role, and the toolsets that it
    allows (None for all).
    """

    token_id: str
    program_id: str
    role: Role
    toolsets: tuple[str, ...] | None = None


def caller_of_token(process: Caller) -> Caller:
    """Return the caller of the request that this task serves; that of the process where it was
    asked for no token.
    """
    token = get_access_token()
    if not isinstance(token, CallerToken):
        return process
    return Caller(token.program_id, token.role, token.token_id, token.toolsets)
