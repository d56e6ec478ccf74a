"""Calls under way at once, e.g. a program is read while a lesson or a question is embedded."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import anyio

_A = TypeVar("_A")
_B = TypeVar("_B")


class Started(Generic[_A]):
    """A call that is under way; `done` is set once it has its result."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self._results: list[_A] = []

    def finish(self, result: _A) -> None:
        """Keep the result of the call."""
        self._results.append(result)
        self.done.set()

    async def result(self) -> _A:
        """Return the result of the call, once there is one."""
        if not self.done.is_set():
            await self.done.wait()
        return self._results[0]


async def run_both(
    first: Callable[[], Awaitable[_A]], second: Callable[[], Coroutine[None, None, _B]]
) -> tuple[_A, _B]:
    """Return the results of two calls that are under way at once, the second begun first; errors as in `start`."""
    try:
        async with asyncio.TaskGroup() as tasks:  # anyio's costs six times as much
            task = tasks.create_task(second())
            await asyncio.sleep(0)  # it begins first: the longer of the two calls is the second
            result = await first()
    except ExceptionGroup as group:
        error = group.exceptions[0]
    else:
        return result, task.result()
    raise error  # not in the handler, which would replace its context


@asynccontextmanager
async def start(call: Callable[[], Awaitable[_A]]) -> AsyncIterator[Started[_A]]:
    """Start a call and yield it, once it waits; one that is under way at the end of the block is cancelled.

    The first error, of the call or of the block, leaves as it is, not in an ExceptionGroup, and the other of the two is
    cancelled.
    """
    started = Started[_A]()

    async def run() -> None:
        started.finish(await call())

    try:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(run())
            await asyncio.sleep(0)  # it begins before the block: the longer of the two calls is the one to start
            yield started
            task.cancel()
    except ExceptionGroup as group:
        error = group.exceptions[0]
    else:
        return
    raise error  # not in the handler, which would replace its context
