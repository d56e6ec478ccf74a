"""Two calls under way at once, e.g. a program is read while a question is embedded."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from fleet_memory.errors import FleetMemoryError

_A = TypeVar("_A")
_B = TypeVar("_B")
_T = TypeVar("_T")


async def both(first: Callable[[], Awaitable[_A]], second: Callable[[], Awaitable[_B]]) -> tuple[_A, _B]:
    """Return the results of two calls that are under way at once.

    The first FleetMemoryError of either leaves as it is, not in an ExceptionGroup, and the other call is cancelled.
    """
    firsts: list[_A] = []
    seconds: list[_B] = []
    errors: list[FleetMemoryError] = []

    async def run(call: Callable[[], Awaitable[_T]], results: list[_T]) -> None:
        try:
            results.append(await call())
        except FleetMemoryError as error:
            errors.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, second, seconds)
        await run(first, firsts)
    if errors:
        raise errors[0]
    return firsts[0], seconds[0]
