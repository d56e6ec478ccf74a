"""The memory of a command that reads, or changes what must be there: a mistyped path must not
create one.
"""

import argparse
import os
from collections.abc import Awaitable, Callable
from typing import ClassVar, TypeVar

import anyio

from fleet_memory.cli.arguments import Run
from fleet_memory.cli.printing import Output
from fleet_memory.errors import FleetMemoryError
from fleet_memory.extensions import StoreLocation
from fleet_memory.fleet import Fleet, PeoplesCommand
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings

_T = TypeVar("_T")


class MemoryNotFoundError(FleetMemoryError):
    """There is no memory where the settings point. Nothing was created."""

    code: ClassVar[str] = "memory_not_found"


def is_there(place: StoreLocation) -> bool:
    """Whether there may be a memory at a place: a file that this user can see, or a database."""
    return place.file is None or os.path.exists(place.file)  # noqa: PTH110 no error where a user may not look


def require_memory(settings: Settings) -> None:
    """Raise MemoryNotFoundError unless there may be a memory where the settings point."""
    if not is_there(settings.store):
        raise MemoryNotFoundError(
            f"there is no memory at {settings.store}; the first lesson of an agent creates one"
        )


def with_memory(settings: Settings, work: Callable[[Fleet], Awaitable[_T]]) -> _T:
    """Return the result of one piece of work on a memory that is there already. Raises
    MemoryNotFoundError.
    """
    require_memory(settings)
    return anyio.run(with_fleet, settings, work)


def in_memory(work: Callable[[Fleet, argparse.Namespace], Awaitable[Output]]) -> Run:
    """Return the command that does its work on a memory that is there already."""

    def run(given: argparse.Namespace, settings: Settings) -> Output:
        return with_memory(settings, lambda fleet: work(fleet, given))

    return run


def of_toolset(command: PeoplesCommand) -> Run:
    """Return the command of a toolset, which works on a memory that is there already."""

    async def answered(fleet: Fleet, given: argparse.Namespace) -> Output:
        return Output((await command.run(fleet, given)).wire())

    return in_memory(answered)
