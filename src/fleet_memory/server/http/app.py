"""The app behind every HTTP request: its routes, and the checks that come before a tool.

`/healthz` answers while the process lives, `/readyz` while its store answers.
"""

import logging
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Final

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import ServerMiddleware
from mcp.server.transport_security import RequestBodyLimitMiddleware, TransportSecuritySettings
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fleet_memory.errors import FleetMemoryError, RateLimitedError
from fleet_memory.rules.text.credentials import without_credentials
from fleet_memory.schemas.fields import format_instant
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.access import (
    UNBOUND_CONNECTION,
    BearerTokens,
    CallerToken,
    UnavailableAnswer,
    auth_settings,
    caller_of_token,
)
from fleet_memory.server.http.addresses import ENDPOINT_PATH, Addresses
from fleet_memory.server.limits import CallLimits
from fleet_memory.settings import Settings
from fleet_memory.window.app import WINDOW_PATH, LinkDoor, TokenDoor, Window

MAX_BODY_BYTES: Final = 1024 * 1024  # of an admin, who sets rules; chosen
# of all others; chosen: twenty lessons of the largest fields are 100 kB
MAX_AGENT_BODY_BYTES: Final = 256 * 1024
ENDS_HEADER: Final = "Fleet-Memory-Token-Ends"  # e.g. "2026-06-05T12:00:00Z"; `doctor` reads it
HOST_ADVICE: Final = (
    "start it with --public-url URL or --allowed-host HOST, the name by which clients reach it"
)
READY_WITHIN_S: Final = 5.0  # seconds for the store to answer; chosen
READY_FOR_S: Final = (
    2.0  # seconds that an answer counts: anybody may ask, and each question to the store is billed
)
_ONCE: Final = (
    b"origin",
    b"authorization",
)  # of two, a proxy may have checked the other; h11 refuses two Hosts
_LENGTHS: Final = {b"content-length", b"transfer-encoding"}
_TWO_LENGTHS: Final = (
    "Send Content-Length or Transfer-Encoding, not both.",
    400,
    {"Connection": "close"},
)
_UNKNOWN_HOST: Final = (f"Invalid Host header: {HOST_ADVICE}", 421)
_PLACES: Final = {b"host": _UNKNOWN_HOST, b"origin": ("Invalid Origin header", 403)}
_PLACE: Final = re.compile(rb"([a-z]+://)?([^:/@\[\]]*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")

_logger = logging.getLogger(__name__)


def http_app(
    settings: Settings,
    lazy: LazyFleet,
    addresses: Addresses,
    verifier: BearerTokens | None,
    middleware: Sequence[ServerMiddleware[LazyFleet]] = (),
    count: Callable[[int], None] = lambda _: None,
) -> ASGIApp:
    """Return the app of one server; without a verifier of tokens every caller is that of the
    process. `count` takes the status of each answer at the endpoint.
    """
    unbound = Caller(connection=UNBOUND_CONNECTION)
    process = (
        Caller(settings.program, session_id=settings.session_id) if settings.program else unbound
    )
    lazy.identified = partial(caller_of_token, process)
    limits = CallLimits(settings.rate)
    server = create_server(settings, lazy=lazy, middleware=[*middleware, limits])
    app = server._lowlevel_server.streamable_http_app(  # private, as in server/stdio.py
        streamable_http_path=ENDPOINT_PATH,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(addresses.hosts), allowed_origins=list(addresses.origins)
        ),
        auth=auth_settings(settings, addresses.endpoint) if verifier else None,
        token_verifier=verifier,
        custom_starlette_routes=[*health_routes(lazy), *window_routes(lazy, addresses, verifier)],
    )
    app.router.redirect_slashes = False  # a redirect would name the address behind the proxy
    app.user_middleware.append(Middleware(_KnownCallers, limits))  # it knows the caller
    app.add_middleware(UnavailableAnswer)
    return _Door(app, addresses.prefix, count)


class _Door:
    """Find the route of a path, with or without a proxy's prefix and trailing slashes.

    A request with two lengths is refused, and its connection closed: h11 goes by one of them and a
    proxy may go by the other, so that the end of one client's body would be another's request.

    The endpoint takes only POST: a server without sessions has no stream to open by GET and none to
    end by DELETE. The status of each of its answers is counted. The answer 421 says how the server
    learns the name by which it is reached.
    """

    def __init__(self, app: ASGIApp, prefix: str, count: Callable[[int], None]) -> None:
        self._app = app
        self._prefix = f"{prefix}/"
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = "/" + scope["path"].removeprefix(self._prefix).strip("/")

        def hint(status: int) -> Response | None:
            if path == ENDPOINT_PATH:
                self._count(status)
            return PlainTextResponse(*_UNKNOWN_HOST) if status == _UNKNOWN_HOST[1] else None

        send = _replacing(hint, scope, receive, send)
        if {name for name, _ in scope["headers"]} >= _LENGTHS:
            await PlainTextResponse(*_TWO_LENGTHS)(scope, receive, send)
            return
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
            await self._app({**scope, "path": path, "headers": headers}, _whole(receive), send)
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


def _replacing(
    other: Callable[[int], Response | None], scope: Scope, receive: Receive, send: Send
) -> Send:
    """Return a `send` that sends another answer in place of one whose status has one."""
    is_replaced = False

    async def sent(message: Message) -> None:
        nonlocal is_replaced
        if message["type"] == "http.response.start" and (answer := other(message["status"])):
            is_replaced = True
            await answer(scope, receive, send)
        elif not is_replaced:
            await send(message)

    return sent


class _KnownCallers:
    """ASGI middleware inside authentication: limits an agent's body below an admin's, counts a
    notification as a call of its token, and names the token's end in the answer.
    """

    def __init__(self, app: ASGIApp, limits: CallLimits) -> None:
        self._of_admins = app
        self._of_others = RequestBodyLimitMiddleware(app, MAX_AGENT_BODY_BYTES)
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = get_access_token()
        if not isinstance(token, CallerToken):
            await self._of_others(scope, receive, send)
            return

        def refused(status: int) -> Response | None:
            if status == HTTPStatus.ACCEPTED:  # of a notification
                try:
                    self._limits.count_notification(token.token_id)
                except RateLimitedError as refusal:
                    wait = {"Retry-After": str(math.ceil(refusal.retry_after_s))}
                    return PlainTextResponse(str(refusal), 429, wait)
            return None

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start" and token.ends_at:
                MutableHeaders(scope=message)[ENDS_HEADER] = format_instant(token.ends_at)
            await send(message)

        app = self._of_admins if token.role == "admin" else self._of_others
        await app(scope, receive, _replacing(refused, scope, receive, dated))


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


def health_routes(lazy: LazyFleet) -> list[Route]:
    """Return the two routes, which need no token and accept any host: a probe knows only an
    address.
    """
    return [Route("/healthz", _alive), Route("/readyz", _Readiness(lazy).answer)]


def window_routes(lazy: LazyFleet, where: Addresses, tokens: BearerTokens | None) -> list[Route]:
    """Return the pages for people: for bearers of the roles auditor and admin only."""
    base = where.endpoint.removesuffix(ENDPOINT_PATH)
    door = TokenDoor(tokens.verify_token) if tokens else LinkDoor(Caller())
    return [Route(f"{WINDOW_PATH}{{_:path}}", Window(lazy.fleet, door, where.hosts, base))]


async def _alive(_: Request) -> Response:
    return JSONResponse({"alive": True})


class _Readiness:
    """Asks the store, at most once in `READY_FOR_S`. Billed 1 read each time."""

    def __init__(self, lazy: LazyFleet) -> None:
        self._lazy = lazy
        self._asking = anyio.Lock()
        self._asked_until = 0.0
        self._problem: str | None = None

    async def answer(self, _: Request) -> Response:
        async with self._asking:
            if anyio.current_time() >= self._asked_until:
                self._problem = await self._problem_of_store()
                self._asked_until = anyio.current_time() + READY_FOR_S
        if self._problem is None:
            return JSONResponse({"ready": True})
        return JSONResponse({"ready": False, "reason": self._problem}, 503)

    async def _problem_of_store(self) -> str | None:
        try:
            with anyio.fail_after(READY_WITHIN_S):
                await (await self._lazy.fleet()).last_runs.read()
        except TimeoutError:
            problem = f"The store did not answer within {READY_WITHIN_S:g} seconds."
            _logger.warning("not ready: %s", problem)
            return f"store_unavailable: {problem}"
        except FleetMemoryError as error:
            _logger.warning("not ready: %s %s", error, error.operator_detail)
            return f"{error.code}: {without_credentials(str(error))}"
        return None
