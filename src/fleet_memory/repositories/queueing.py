"""Changes of one program that wait for each other inside this process, and share one read and one
commit.
"""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar, cast

import anyio

from fleet_memory.errors import FleetMemoryError
from fleet_memory.repositories.room import with_archived, with_room
from fleet_memory.schemas.programs import Program, ProgramRecord
from fleet_memory.schemas.value import InvalidValueError


class ChangeResult(Protocol):
    """The result of a change: the new program, and the records that it leaves."""

    @property
    def program(self) -> Program:
        """The program after the change; the same object when nothing changed."""

    @property
    def archived(self) -> Sequence[ProgramRecord]:
        """The records that left the program, for the archive or the history, in the same commit."""


_C = TypeVar("_C", bound=ChangeResult)


class QueuedCall(Generic[_C]):
    """One caller's change, and its outcome."""

    def __init__(self, change: Callable[[Program], _C], now: datetime) -> None:
        self.change = change
        self.now = now
        self.outcome: _C | None = None
        self.error: FleetMemoryError | InvalidValueError | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the change was committed, or has failed."""
        return self.outcome is not None or self.error is not None

    def result(self) -> _C:
        """Return the result of the change, or raise its error."""
        if self.error is not None:
            raise self.error
        return cast("_C", self.outcome)


class Turn:
    """The callers that wait for one program inside this process."""

    def __init__(self) -> None:
        self.lock = anyio.Lock(fast_acquire=True)
        self.readers = 0  # callers that have read the program and let others change it first
        self.waiting: deque[QueuedCall[ChangeResult]] = deque()

    async def let_others_go(self, until: anyio.Event) -> None:
        """Wait for an event without the lock, counted among the readers."""
        self.readers += 1
        try:
            await until.wait()
        finally:
            self.readers -= 1


def applied(
    program: Program, batch: Sequence[QueuedCall[ChangeResult]]
) -> tuple[Program, list[ProgramRecord], list[tuple[QueuedCall[ChangeResult], ChangeResult]]]:
    """Run the changes in order, each on the result of the one before; one that raises has its error
    and no effect.
    """
    archived: list[ProgramRecord] = []
    outcomes: list[tuple[QueuedCall[ChangeResult], ChangeResult]] = []
    for call in batch:
        call.error = None
        try:
            outcome = call.change(program)
            room = with_room(program, outcome.program, call.now)
            outcome = with_archived(outcome, room, tuple(outcome.archived))
        except (FleetMemoryError, InvalidValueError) as error:
            call.error = error
            continue
        program = room.program
        archived.extend(outcome.archived)
        outcomes.append((call, outcome))
    return program, archived, outcomes
