"""The one real clock. Light: a hook reads the time without the rest of the server."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

# A clock that is further off follows the store. Chosen: leases last 120 s, and an answer may take
# some seconds
MAX_OFFSET: Final = timedelta(seconds=60)

_logger = logging.getLogger(__name__)


class StoreClock:
    """This machine's clock in UTC, in milliseconds, corrected where the store's clock is more than
    60 s away.

    Servers of one fleet stamp alike, even where one machine's clock is wrong. The correction stays
    as it is until the store contradicts the corrected time by more than 60 s, so that it does not
    tremble with each answer's latency.
    """

    def __init__(self, read: Callable[[], datetime]) -> None:
        self._read = read
        self._offset = timedelta(0)

    def __call__(self) -> datetime:
        """Return the corrected time."""
        return _in_milliseconds(self._read() + self._offset)

    def uncorrected(self) -> datetime:
        """Return this machine's time as it is."""
        return self._read()

    def observe(self, store_time: datetime, asked_at: datetime) -> None:
        """Learn from the store's time of a commit; `asked_at` is the `uncorrected` time before that
        commit.

        A store's time between then and now needs no correction: the answer was slow, or the machine
        slept meanwhile.
        """
        earliest, latest = sorted(moment + self._offset for moment in (asked_at, self._read()))
        error = min(store_time - earliest, timedelta(0)) or max(store_time - latest, timedelta(0))
        if abs(error) > MAX_OFFSET:
            offset = self._offset + error
            self._offset = offset if abs(offset) > MAX_OFFSET else timedelta(0)
            if self._offset:
                _logger.warning(
                    "the store's clock is %+.0f seconds from this machine's; what is written gets "
                    "the store's time. Set the clock.",
                    self._offset.total_seconds(),
                )


def clock(start: datetime | None) -> Callable[[], datetime]:
    """Return a clock in UTC and milliseconds. With `start` it begins there and ticks on, else it is
    a `StoreClock`.
    """
    if start is None:
        return StoreClock(machine_time)
    began = time.monotonic()
    return lambda: _in_milliseconds(start + timedelta(seconds=time.monotonic() - began))


def machine_time() -> datetime:
    """Return this machine's time in UTC, in milliseconds."""
    return _in_milliseconds(datetime.now(UTC))


def _in_milliseconds(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
