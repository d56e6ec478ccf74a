"""Work under way while its caller does something else, e.g. a text is embedded while its program is read."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio

from fleet_memory.errors import FleetMemoryError

_T = TypeVar("_T")


@asynccontextmanager
async def started(work: Callable[[], Awaitable[_T]]) -> AsyncIterator[Callable[[], Awaitable[_T]]]:
    """Start `work` and yield a function that waits for its result; at the end work still under way is cancelled.

    `work` raises no FleetMemoryError; one that the caller raises leaves as it is, not in an ExceptionGroup.
    """
    results: list[_T] = []
    is_done = anyio.Event()

    async def run() -> None:
        results.append(await work())
        is_done.set()

    async def result() -> _T:
        await is_done.wait()
        return results[0]

    refusal: FleetMemoryError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            yield result
        except FleetMemoryError as error:
            refusal = error
        tasks.cancel_scope.cancel()
    if refusal is not None:
        raise refusal
