"""The one real clock. Light: a hook tells the time without the rest of the server."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def clock(start: datetime | None) -> Callable[[], datetime]:
    """Return the one real clock: UTC, in milliseconds. With `start` it begins there and ticks from now on."""
    if start is None:
        return lambda: _in_milliseconds(datetime.now(UTC))
    began = time.monotonic()
    return lambda: _in_milliseconds(start + timedelta(seconds=time.monotonic() - began))


def _in_milliseconds(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
