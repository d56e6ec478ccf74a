"""Middleware over the answers of the endpoint: counts them by status, and hints where the host is
unknown.
"""

from collections.abc import Callable
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fleet_memory.server.http.addresses import ENDPOINT_PATH

HOST_ADVICE: Final = (
    "start it with --public-url URL or --allowed-host HOST, the name by which clients reach it"
)


class CountedAnswers:
    """An ASGI middleware, outside all others, that reports the status of each answer at the
    endpoint.

    Other paths are left out: what watches the service asks for its health all the time.
    """

    def __init__(self, app: ASGIApp, count: Callable[[int], None]) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and report the status of its answer."""

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(message["status"])
            await send(message)

        is_counted = scope["type"] == "http" and scope["path"].rstrip("/").endswith(ENDPOINT_PATH)
        await self._app(scope, receive, counted if is_counted else send)


class HintedHost:
    """An ASGI middleware that says in the answer 421 how the server learns the name by which it is
    reached.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; the answer 421 has the hint."""
        is_unknown = False

        async def hinted(message: Message) -> None:
            nonlocal is_unknown
            if message["type"] == "http.response.start" and message["status"] == 421:
                is_unknown = True
                await PlainTextResponse(f"Invalid Host header: {HOST_ADVICE}", 421)(
                    scope, receive, send
                )
            elif not is_unknown:
                await send(message)

        await self._app(scope, receive, hinted)
