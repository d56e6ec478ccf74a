"""Cuts connections that send or read too slowly, which uvicorn leaves open for ever, and bounds how many wait."""

import asyncio
from typing import ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S: Final = 20.0  # seconds for a whole request from its first byte, and for reading 64 KiB of an answer; chosen
KEEP_ALIVE_S: Final = 75  # seconds between two requests: longer than nginx's 60, or it would reuse a closed connection
MAX_WAITING: Final = 800  # connections; with calls under way fewer than the 1,024 files that a process may open

_UNFINISHED: Final = (h11.IDLE, h11.SEND_BODY)


class TimedProtocol(H11Protocol):
    """One connection. While its client has the turn, to send the rest of a request or to read, it waits.

    It may wait for `request_s`; between two requests uvicorn's own timer runs, `KEEP_ALIVE_S`. Where more than
    `max_waiting` wait, the one that began first is cut: idle connections keep no other client out.
    """

    request_s = REQUEST_S
    max_waiting = MAX_WAITING
    _waiting: ClassVar[dict[H11Protocol, None]] = {}  # in the order in which they began to wait
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Expect a request from here on."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Expect the next request, which may have begun: clients may send it before the answer."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Expect the client to read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._stop()

    def _watch(self) -> None:
        if self.conn.their_state not in _UNFINISHED and not self.flow.write_paused:
            self._stop()
            return
        if self not in self._waiting:
            self._waiting[self] = None
            if len(self._waiting) > self.max_waiting:
                next(iter(self._waiting)).transport.abort()
        rests = self.timeout_keep_alive_task is not None and not self.conn.trailing_data[0]
        if self._deadline is None and not rests:
            self._deadline = self.loop.call_later(self.request_s, self.transport.abort)

    def _stop(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None
