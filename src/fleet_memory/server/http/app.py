"""The app behind every HTTP request: its routes, and the checks that come before a tool."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from mcp.server.auth.provider import TokenVerifier
from mcp.server.context import ServerMiddleware
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fleet_memory.fleet import Caller
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.access import UNBOUND_CONNECTION, caller_of_token
from fleet_memory.server.http.addresses import ENDPOINT_PATH, Addresses
from fleet_memory.server.http.bearer import UnavailableAnswer, auth_settings
from fleet_memory.server.http.first_token import FirstTokenDoor, OpenUntilFirstToken
from fleet_memory.server.http.health import health_routes
from fleet_memory.settings import Settings

MAX_BODY_BYTES: Final = 1024 * 1024  # chosen: the largest legitimate field takes 2,000 characters


def http_app(
    settings: Settings,
    lazy: LazyFleet,
    addresses: Addresses,
    verifier: TokenVerifier,
    middleware: Sequence[ServerMiddleware[LazyFleet]] = (),
) -> ASGIApp:
    """Return the app of one server; where no token is needed, the caller is that of the process."""
    unbound = Caller(connection=UNBOUND_CONNECTION)
    process = Caller(settings.program, session_id=settings.session_id) if settings.program else unbound
    lazy.identified = partial(caller_of_token, process)
    server = create_server(settings, lazy=lazy, middleware=middleware)
    app = server._lowlevel_server.streamable_http_app(  # private, as in server/stdio.py
        streamable_http_path=ENDPOINT_PATH,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(addresses.hosts), allowed_origins=list(addresses.origins)
        ),
        auth=auth_settings(settings, addresses.endpoint),
        token_verifier=verifier,
        custom_starlette_routes=health_routes(lazy),
    )
    app.router.redirect_slashes = False  # a redirect would name the address behind the proxy
    if isinstance(verifier, OpenUntilFirstToken):
        app.add_middleware(FirstTokenDoor, verifier=verifier)
    app.add_middleware(UnavailableAnswer)
    return _Door(app, addresses.prefix)


class _Door:
    """Finds the route of a path whether a proxy passes its prefix on or not, and whatever slashes end it.

    The endpoint takes POST alone: a server without sessions has no stream to open by GET and none to end by DELETE.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = f"{prefix}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = "/" + scope["path"].removeprefix(self._prefix).strip("/")
        if path == ENDPOINT_PATH and scope["method"] != "POST":
            refusal = PlainTextResponse("Method Not Allowed: POST your message.", 405, {"Allow": "POST"})
            await refusal(scope, receive, send)
            return

        try:
            await self._app({**scope, "path": path}, _whole(receive), send)
        except ClientDisconnect:  # no fault of the server's to log
            return


def _whole(receive: Receive) -> Receive:
    """Return a `receive` that raises ClientDisconnect where the client leaves before its request is whole."""
    is_whole = False

    async def received() -> Message:
        nonlocal is_whole
        message = await receive()
        if message["type"] == "http.disconnect" and not is_whole:
            raise ClientDisconnect
        is_whole = not message.get("more_body")
        return message

    return received
