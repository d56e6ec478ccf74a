"""A thread for the blocking work of one engine: a call of it costs half as much as one of anyio's shared threads."""

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

import anyio

_T = TypeVar("_T")


class _Piece(Generic[_T]):
    """A piece of work, and its outcome once `finished` is done."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self.work = work
        self.results: list[_T] = []
        self.error: BaseException | None = None
        self.loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self.loop.create_future()

    def do(self) -> None:
        """Work, in the thread, and wake the caller."""
        try:
            self.results.append(self.work())
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

    It begins with the first piece of work, ends with this object, and never keeps a process from ending.
    """

    def __init__(self) -> None:
        self._turn: Final = anyio.Lock(fast_acquire=True)  # a task that is cancelled in the line leaves it
        self._pieces: SimpleQueue[Callable[[], None] | None] | None = None

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return the result of `work`, or raise its error; a cancelled caller leaves when work that began is done."""
        piece = _Piece(work)
        async with self._turn:
            self._queue().put(piece.do)
            with anyio.CancelScope(shield=True):
                await piece.finished
        return piece.result()

    def _queue(self) -> "SimpleQueue[Callable[[], None] | None]":
        if self._pieces is None:
            self._pieces = SimpleQueue()
            threading.Thread(target=_do_all, args=(self._pieces,), daemon=True).start()
            weakref.finalize(self, self._pieces.put, None)
        return self._pieces


def _do_all(pieces: "SimpleQueue[Callable[[], None] | None]") -> None:
    while do := pieces.get():
        do()
        del do  # or it would live until the next piece
