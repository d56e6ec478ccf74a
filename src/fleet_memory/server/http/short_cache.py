"""Values of the store that may be a few seconds old: one read at a time of each, and few of
them.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import anyio

from fleet_memory.errors import FleetMemoryError

MAX_AGE_S: Final = 5.0  # seconds until a revocation holds on every replica; Source: docs/tokens.md
# tokens in use within these seconds; chosen: twice as many as a fleet of 1,000 agents has
MAX_VALUES: Final = 2_000

_T = TypeVar("_T")


@dataclass
class _Slot(Generic[_T]):
    value: _T | None = None
    read_at: float | None = None  # when its reading began: a change since then may be missing
    failures: int = 0
    error: FleetMemoryError | None = None  # the last failure's
    reading: anyio.Lock = field(default_factory=anyio.Lock)


class ShortCache(Generic[_T]):
    """At most `MAX_VALUES` values by name, each at most `MAX_AGE_S` seconds old; the longest unused
    goes first.

    `elapsed` counts seconds and never goes back: no wrong or changed wall clock keeps a value
    alive.
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._slots: dict[str, _Slot[_T | None]] = {}

    async def get(self, name: str, read: Callable[[], Awaitable[_T | None]]) -> _T | None:
        """Return the value of a name, by `read` unless it is young enough. Raises as `read`, for
        all who wait for it.

        None, for an unknown name, is a value too.
        """
        slot = self._slots.pop(name, None) or _Slot()
        self._slots[name] = slot
        if len(self._slots) > MAX_VALUES:
            del self._slots[next(iter(self._slots))]
        failures = slot.failures
        async with slot.reading:
            if (
                slot.error is not None and slot.failures > failures
            ):  # while this call waited for another's reading
                raise slot.error.with_traceback(None)
            now = self._elapsed()
            if slot.read_at is None or now - slot.read_at >= MAX_AGE_S:
                try:
                    slot.value = await read()
                except FleetMemoryError as error:
                    slot.failures, slot.error = slot.failures + 1, error
                    raise
                slot.read_at = now
            return slot.value
