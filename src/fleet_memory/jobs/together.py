"""Calls under way at once, e.g. a program is read while a question is embedded."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar, overload

import anyio

_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D")
_Call: TypeAlias = Callable[[], Awaitable[_A]]


@overload
async def run_all(first: _Call[_A], second: _Call[_B], /) -> tuple[_A, _B]: ...
@overload
async def run_all(
    first: _Call[_A], second: _Call[_B], third: _Call[_C], fourth: _Call[_D], /
) -> tuple[_A, _B, _C, _D]: ...
async def run_all(*calls: _Call[object]) -> tuple[object, ...]:
    """Return the results of calls that are under way at once.

    The first error leaves as it is, not in an ExceptionGroup, and the other calls are cancelled,
    but for what anyio shields: a commit that began is finished. asyncio's group would cancel that.
    """
    results: dict[int, object] = {}

    async def run(number: int, call: _Call[object]) -> None:
        results[number] = await call()

    try:
        async with anyio.create_task_group() as tasks:
            for number, call in enumerate(calls):
                tasks.start_soon(run, number, call)
    except ExceptionGroup as group:
        error = group.exceptions[0]
    else:
        return tuple(results[number] for number in range(len(calls)))
    raise error  # not in the handler, which would replace its context
