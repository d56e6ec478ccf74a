"""Cuts connections that send their request too slowly, which uvicorn leaves open for ever."""

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S: Final = 20.0  # seconds for a whole request, headers and body, from its first byte or the connection; chosen
KEEP_ALIVE_S: Final = 75  # seconds between two requests: longer than nginx's 60, or it would reuse a closed connection


class TimedProtocol(H11Protocol):
    """One connection; it ends `REQUEST_S` after a request began that is not whole by then.

    Between two requests uvicorn's own timer runs, `KEEP_ALIVE_S`.
    """

    request_s = REQUEST_S
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Expect a request from here on."""
        super().connection_made(transport)
        self._time_request()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._time_request()

    def on_response_complete(self) -> None:
        """Expect the next request, which may have begun: clients may send it before the answer."""
        super().on_response_complete()
        self._time_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the request."""
        super().connection_lost(exc)
        self._stop()

    def _time_request(self) -> None:
        is_waiting = self.timeout_keep_alive_task is not None
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or is_waiting:
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.request_s, self.transport.close)

    def _stop(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None
