"""The memory of a command that reads, or changes what must be there: a mistyped path must not
create one.
"""

import os
from collections.abc import Awaitable, Callable
from typing import ClassVar, TypeVar

import anyio

from fleet_memory.errors import EXIT_NO, FleetMemoryError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile, StoreLocation

_T = TypeVar("_T")


class MemoryNotFoundError(FleetMemoryError):
    """There is no memory where the settings point. Nothing was created."""

    code: ClassVar[str] = "memory_not_found"
    exit_code: ClassVar[int] = EXIT_NO


def is_there(place: StoreLocation) -> bool:
    """Whether there may be a memory at a place: a file that this user can see, or a database."""
    return not isinstance(place, SqliteFile) or os.path.exists(place.path)  # noqa: PTH110 no error where a user may not look


def with_memory(settings: Settings, work: Callable[[Fleet], Awaitable[_T]]) -> _T:
    """Return the result of one piece of work on a memory that is there already. Raises
    MemoryNotFoundError.
    """
    place = settings.store
    if isinstance(place, SqliteFile) and not is_there(place):
        raise MemoryNotFoundError(
            f"there is no memory at {place.path}; the first lesson of an agent creates one"
        )
    return anyio.run(with_fleet, settings, work)


def lesson_named(name: str, settings: Settings) -> tuple[str, str]:
    """Return the program and the id that PROGRAM/ID, or ID with --program, names."""
    program, lesson_id = (settings.program, name) if settings.program else name.rpartition("/")[::2]
    if not program:
        raise InvalidArgumentError(
            "KEY|ID: whose lesson? Pass --program, or PROGRAM/ID. Keys begin with pattern/"
        )
    return program, lesson_id
