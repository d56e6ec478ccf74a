"""Counts the answers of the endpoint by their status: a request that is refused before any tool shows nowhere else."""

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fleet_memory.server.http.addresses import ENDPOINT_PATH


class CountedAnswers:
    """An ASGI middleware, outside all others, that reports the status of each answer at the endpoint.

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
