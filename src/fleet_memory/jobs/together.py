"""Calls under way at once, e.g. a program is read while a lesson or a question is embedded."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio

from fleet_memory.errors import FleetMemoryError

_A = TypeVar("_A")
_B = TypeVar("_B")


async def both(first: Callable[[], Awaitable[_A]], second: Callable[[], Awaitable[_B]]) -> tuple[_A, _B]:
    """Return the results of two calls that are under way at once; errors as in `started`."""
    async with started(second) as second_result:
        return await first(), await second_result()


@asynccontextmanager
async def started(call: Callable[[], Awaitable[_A]]) -> AsyncIterator[Callable[[], Awaitable[_A]]]:
    """Start a call and yield a function that waits for its result; a call that is under way at the end is cancelled.

    The first FleetMemoryError, of the call or of the block, leaves as it is, not in an ExceptionGroup, and the other of
    the two is cancelled.
    """
    results: list[_A] = []
    errors: list[FleetMemoryError] = []
    has_result = anyio.Event()

    async def run() -> None:
        try:
            results.append(await call())
        except FleetMemoryError as error:
            errors.append(error)
            tasks.cancel_scope.cancel()
        else:
            has_result.set()

    async def result() -> _A:
        await has_result.wait()
        return results[0]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            yield result
        except FleetMemoryError as error:
            errors.append(error)
        tasks.cancel_scope.cancel()
    if errors:
        raise errors[0]
