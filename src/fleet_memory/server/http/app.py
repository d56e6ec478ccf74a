"""The app behind every HTTP request: its routes, and the checks that come before a tool."""

import re
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Final

from mcp.server.auth.provider import TokenVerifier
from mcp.server.context import ServerMiddleware
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fleet_memory.fleet import Caller
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.access import UNBOUND_CONNECTION, caller_of_token
from fleet_memory.server.http.addresses import ENDPOINT_PATH, Addresses
from fleet_memory.server.http.answers import HintedHost
from fleet_memory.server.http.bearer import UnavailableAnswer, auth_settings
from fleet_memory.server.http.bodies import BodiesOfTokens
from fleet_memory.server.http.first_token import FirstTokenDoor, OpenUntilFirstToken
from fleet_memory.server.http.health import health_routes
from fleet_memory.settings import Settings

MAX_BODY_BYTES: Final = 1024 * 1024  # chosen: the largest legitimate field takes 2,000 characters
_ONCE: Final = (
    b"origin",
    b"authorization",
)  # of two, a proxy may have checked the other; h11 refuses two Hosts
_LENGTHS: Final = {b"content-length", b"transfer-encoding"}
_REPORT: Final = re.compile(rb'(?<="message":")(Parse error|Validation error): (?:[^"\\]|\\.)*')
_TWO_LENGTHS: Final = (
    "Send Content-Length or Transfer-Encoding, not both.",
    400,
    {"Connection": "close"},
)
_PLACES: Final = {b"host": ("Invalid Host header", 421), b"origin": ("Invalid Origin header", 403)}
_PLACE: Final = re.compile(rb"([a-z]+://)?([^:/@\[\]]*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


def http_app(
    settings: Settings,
    lazy: LazyFleet,
    addresses: Addresses,
    verifier: TokenVerifier,
    middleware: Sequence[ServerMiddleware[LazyFleet]] = (),
) -> ASGIApp:
    """Return the app of one server; where no token is needed, the caller is that of the process."""
    unbound = Caller(connection=UNBOUND_CONNECTION)
    process = (
        Caller(settings.program, session_id=settings.session_id) if settings.program else unbound
    )
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
    app.add_middleware(BodiesOfTokens)
    return HintedHost(_Door(app, addresses.prefix))


class _Door:
    """Finds the route of a path whether a proxy passes its prefix on or not, and whatever slashes
    end it.

    A request with two lengths is refused, and its connection closed: h11 goes by one of them and a
    proxy may go by the other, so that the end of one client's body would be another's request.

    The endpoint takes POST alone: a server without sessions has no stream to open by GET and none
    to end by DELETE.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = f"{prefix}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if {name for name, _ in scope["headers"]} >= _LENGTHS:
            await PlainTextResponse(*_TWO_LENGTHS)(scope, receive, send)
            return
        path = "/" + scope["path"].removeprefix(self._prefix).strip("/")
        headers = [
            (name, value.lower() if name in _PLACES else value) for name, value in scope["headers"]
        ]
        if (
            path != ENDPOINT_PATH
        ):  # no other route needs a token, nor may it fail where one cannot be checked
            headers = [header for header in headers if header[0] != b"authorization"]
        elif refusal := _refusal(scope["method"], headers):
            await refusal(scope, receive, send)
            return

        try:
            await self._app(
                {**scope, "path": path, "headers": headers}, _whole(receive), _brief(send)
            )
        except ClientDisconnect:  # no fault of the server's to log
            return


def _refusal(method: str, headers: Sequence[tuple[bytes, bytes]]) -> Response | None:
    """Return the answer to a request that mcp would take for a good one, or send to a stream; None
    for another.
    """
    if method != "POST":
        return PlainTextResponse("Method Not Allowed: POST your message.", 405, {"Allow": "POST"})
    names = [name for name, _ in headers]
    if any(names.count(name) > 1 for name in _ONCE):
        return PlainTextResponse("Send Origin and Authorization once each.", 400)
    for name, value in headers:  # mcp takes anything for a port
        if name in _PLACES and not _PLACE.fullmatch(value):
            return PlainTextResponse(*_PLACES[name])
    return None


def _brief(send: Send) -> Send:
    """Return a `send` that leaves the parser's report out of the refusal of a body: it repeats what
    came.
    """
    start: Message | None = None

    async def sent(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and message["status"] == HTTPStatus.BAD_REQUEST:
            start = message
            return
        if start is not None:
            body = _REPORT.sub(rb"\1", message.get("body", b""))
            length = (b"content-length", str(len(body)).encode())
            headers = [header for header in start["headers"] if header[0] != length[0]]
            await send({**start, "headers": [*headers, length]})
            start, message = None, {**message, "body": body}
        await send(message)

    return sent


def _whole(receive: Receive) -> Receive:
    """Return a `receive` that raises ClientDisconnect where the client leaves before its request is
    whole.
    """
    is_whole = False

    async def received() -> Message:
        nonlocal is_whole
        message = await receive()
        if message["type"] == "http.disconnect" and not is_whole:
            raise ClientDisconnect
        is_whole = not message.get("more_body")
        return message

    return received
