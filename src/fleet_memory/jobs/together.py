"""Calls under way at once, e.g. a program is read while a lesson or a question is embedded."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeAlias, TypeVar, overload

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D")
_Call: TypeAlias = Callable[[], Awaitable[_A]]


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


@overload
async def run_all(first: Callable[[], Awaitable[_A]], second: _Call[_B], /) -> tuple[_A, _B]: ...
@overload
async def run_all(
    first: Callable[[], Awaitable[_A]], second: _Call[_B], third: _Call[_C], fourth: _Call[_D], /
) -> tuple[_A, _B, _C, _D]: ...
async def run_all(
    first: Callable[[], Awaitable[object]], *others: _Call[object]
) -> tuple[object, ...]:
    """Return the results of calls that are under way at once, the first begun last; errors as in
    `start`.
    """
    started = [Started[object]() for _ in others]
    async with _group() as tasks:
        for each, call in zip(started, others, strict=True):
            tasks.start_soon(_finish, each, call)
        await checkpoint()  # they begin: the longer calls are the others
        result = await first()
    return result, *[await each.result() for each in started]


@asynccontextmanager
async def start(call: Callable[[], Awaitable[_A]]) -> AsyncIterator[Started[_A]]:
    """Start a call and yield it, once it waits; one that is under way at the end of the block is
    cancelled.

    The first error, of the call or of the block, leaves as it is, not in an ExceptionGroup, and the
    other of the two is cancelled, but for what anyio shields: a commit that began is finished.
    """
    started = Started[_A]()
    async with _group() as tasks:
        tasks.start_soon(_finish, started, call)
        await (
            checkpoint()
        )  # it begins before the block: the longer of the two calls is the one to start
        yield started
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _group() -> AsyncIterator[TaskGroup]:
    """Yield a group of tasks whose first error leaves as it is. asyncio's group would cancel what
    anyio shields.
    """
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except ExceptionGroup as group:
        error = group.exceptions[0]
    else:
        return
    raise error  # not in the handler, which would replace its context


async def _finish(started: Started[_A], call: Callable[[], Awaitable[_A]]) -> None:
    started.finish(await call())
