"""A thread for the blocking work of one engine: a call of it costs half as much as one of anyio's
shared threads.
"""

import asyncio
import atexit
import math
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Final, Generic, TypeAlias, TypeVar

import anyio

END_WITHIN_S: Final = (
    5.0  # seconds that work under way, of all threads, may take when the process ends; chosen
)

_T = TypeVar("_T")
_Queue: TypeAlias = "SimpleQueue[Callable[[], None] | None]"  # None ends the thread
_running: Final[dict[threading.Thread, _Queue]] = {}


class _Piece(Generic[_T]):
    """A piece of work, and its outcome once `finished` is done."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self.work, self.context = work, copy_context()
        self.results: list[_T] = []
        self.error: BaseException | None = None
        self.loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self.loop.create_future()
        self._taken = (
            threading.Lock()
        )  # by the thread that begins it, or by the caller that withdraws it
        self._is_done = False

    def do(self) -> None:
        """Work, in the thread, in the caller's context, and wake the caller; nothing if it was
        withdrawn.
        """
        if not self._taken.acquire(blocking=False):
            return
        try:
            self.results.append(self.context.run(self.work))
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            self.error = error
        with suppress(RuntimeError):  # the loop was closed: nobody waits
            self.loop.call_soon_threadsafe(self._wake)

    def withdraw(self) -> bool:
        """Withdraw the work, and return whether it had not begun."""
        return self._taken.acquire(blocking=False)

    async def wait(self) -> None:
        """Wait until work that has begun is done, in spite of anyio's cancellation; asyncio's own
        waits for nothing.
        """
        if not self._is_done and anyio.current_effective_deadline() == -math.inf:
            self.finished = self.loop.create_future()  # the cancellation took the first one with it
            with anyio.CancelScope(shield=True):
                await self.finished

    def _wake(self) -> None:
        self._is_done = True
        if not self.finished.done():
            self.finished.set_result(None)

    def result(self) -> _T:
        """Return the result of the work, or raise its error."""
        if self.error is None:
            return self.results[0]
        try:
            raise self.error
        finally:
            self.error = None  # its traceback has this frame: a circle


class WorkerThread:
    """One thread that works for any number of tasks, one after the other in the order of their
    calls.

    It begins with the first piece of work and ends with this object. Work under way when the
    process ends, e.g. by Ctrl-C, is finished first, for up to `END_WITHIN_S`: onnxruntime aborts a
    process that ends around it. Nothing waits for a thread that `may_hang`, e.g. in a read from a
    pipe: neither a cancelled caller nor the end of the process.
    """

    def __init__(self, *, may_hang: bool = False) -> None:
        self._thread: threading.Thread | None = None
        self._pieces: _Queue = SimpleQueue()
        self._may_hang = may_hang

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return the result of `work`, or raise its error; a cancelled caller leaves when work that
        began is done.
        """
        piece = _Piece(work)
        self._queue().put(piece.do)
        try:
            await piece.finished
        except asyncio.CancelledError:
            if not piece.withdraw() and not self._may_hang:
                await piece.wait()
            raise
        return piece.result()

    def _queue(self) -> _Queue:
        if self._thread is None or not self._thread.is_alive():  # not alive in a child of `os.fork`
            pieces: _Queue = SimpleQueue()
            thread = threading.Thread(target=_do_all, args=(pieces,), daemon=True)
            thread.start()
            self._thread, self._pieces = thread, pieces
            if not self._may_hang:
                _running[thread] = pieces
            weakref.finalize(self, pieces.put, None)
        return self._pieces


def _do_all(pieces: _Queue) -> None:
    while do := pieces.get():
        do()
        del do  # or it would live until the next piece
    _running.pop(threading.current_thread(), None)


@atexit.register
def _end_all() -> None:
    threads = dict(_running)
    for pieces in threads.values():
        pieces.put(None)
    end = time.monotonic() + END_WITHIN_S
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
