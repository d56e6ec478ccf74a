"""A thread for the blocking work of one engine: a call of it costs half as much as one of anyio's shared threads."""

import asyncio
import atexit
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Final, Generic, TypeAlias, TypeVar

import anyio

END_WITHIN_S: Final = 5.0  # seconds that work under way, of all threads, may take when the process ends; chosen

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

    def do(self) -> None:
        """Work, in the thread, in the caller's context, and wake the caller; not for one that asyncio cancelled."""
        if self.finished.cancelled():
            return
        try:
            self.results.append(self.context.run(self.work))
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            self.error = error
        with suppress(RuntimeError):  # the loop was closed: nobody waits
            self.loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
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
    """One thread that works for any number of tasks, one after the other in the order of their calls.

    It begins with the first piece of work and ends with this object. Work under way when the process ends, e.g. by
    Ctrl-C, is finished first, for up to `END_WITHIN_S`: onnxruntime aborts a process that ends around it.
    """

    def __init__(self) -> None:
        self._turn: Final = anyio.Lock(fast_acquire=True)  # a task that is cancelled in the line leaves it
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return the result of `work`, or raise its error; a cancelled caller leaves when work that began is done."""
        piece = _Piece(work)
        async with self._turn:
            self._queue().put(piece.do)
            with anyio.CancelScope(shield=True):
                await piece.finished
        return piece.result()

    def _queue(self) -> _Queue:
        if self._thread is None or not self._thread.is_alive():  # not alive in a child of `os.fork`
            pieces: _Queue = SimpleQueue()
            thread = threading.Thread(target=_do_all, args=(pieces,), daemon=True)
            thread.start()
            self._thread, _running[thread] = thread, pieces
            weakref.finalize(self, pieces.put, None)
        return _running[self._thread]


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
