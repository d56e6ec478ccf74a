"""Cuts connections that send or read too slowly, which uvicorn leaves open for ever, and bounds how
many wait.
"""

import asyncio
import errno
import logging
import socket
import time
from typing import ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# seconds for a whole request from its first byte, and for reading 64 KiB of an answer; chosen
REQUEST_S: Final = 20.0
# seconds between two requests: longer than nginx's 60, or it would reuse a closed connection
KEEP_ALIVE_S: Final = 75
MAX_FILES: Final = 4_096  # that the server asks for, connections among them; chosen
USUAL_FILES: Final = 1_024  # where a process cannot tell how many it may open
WAITING_SHARE: Final = (
    0.75  # of the files; the others are for calls under way, the store, and what comes in one turn
)
BACKLOG: Final = 100  # connections that wait to be accepted, and that are accepted in one turn
WARN_EVERY_S: Final = 60.0  # seconds between two warnings of the same shortage

_UNFINISHED: Final = (h11.IDLE, h11.SEND_BODY)
_SHORTAGES: Final = (
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOBUFS,
    errno.ENOMEM,
)  # as asyncio knows them

_logger = logging.getLogger(__name__)


def open_files() -> int:
    """Return how many files this process may open, once it may open `MAX_FILES` or as many as the
    system allows.
    """
    try:
        import resource  # noqa: PLC0415 Windows has none
    except ImportError:
        return USUAL_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return files


class TimedProtocol(H11Protocol):
    """One connection. While its client has the turn, to send the rest of a request or to read, it
    waits.

    It may wait for `request_s`; between two requests uvicorn's own timer runs, `KEEP_ALIVE_S`.
    Where more than `max_waiting` wait, the one that began first is cut: idle connections keep no
    other client out.
    """

    request_s = REQUEST_S
    max_waiting = int(USUAL_FILES * WAITING_SHARE)
    _waiting: ClassVar[dict[H11Protocol, None]] = {}  # in the order in which they began to wait
    _deadline: asyncio.TimerHandle | None = None

    @classmethod
    def cut_longest(cls) -> bool:
        """Cut the connection that waits longest; false where none waits."""
        if not cls._waiting:
            return False
        longest = next(iter(cls._waiting))
        cls._waiting.pop(longest)
        longest.transport.abort()
        return True

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
                self.cut_longest()
        rests = self.timeout_keep_alive_task is not None and not self.conn.trailing_data[0]
        if self._deadline is None and not rests:
            self._deadline = self.loop.call_later(self.request_s, self.transport.abort)

    def _stop(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


class Listener(socket.socket):
    """A listening TCP socket that makes room where the process may open no more files.

    asyncio would log a traceback for each try, thousands a second, and accept no client while idle
    connections stay.
    """

    _warned_at = float("-inf")

    def accept(self) -> tuple[socket.socket, object]:
        """Accept a connection. Raises BlockingIOError, to be asked again, where a connection had to
        be cut first.
        """
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _SHORTAGES:
                raise
            if time.monotonic() > self._warned_at + WARN_EVERY_S:
                self._warned_at = time.monotonic()
                _logger.warning(
                    "no room for a connection (%s): those that wait longest are cut", error.strerror
                )
            if not TimedProtocol.cut_longest():
                time.sleep(
                    0.001
                )  # calls under way have all the files; asyncio asks at each of its turns
            raise BlockingIOError from error
