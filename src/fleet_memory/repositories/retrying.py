"""The only loop that tries a commit again after somebody else wrote first."""

import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

import anyio

from fleet_memory.errors import ConflictError

RETRY_FOR_S: Final = 20.0  # seconds of losing every race until the caller gets a ConflictError; chosen
MAX_PAUSE_S: Final = 2.0  # seconds; chosen: ten attempts at least fit into RETRY_FOR_S
_PAUSE_FACTOR: Final = 4.0  # pauses are drawn from 0 to this many times the attempt's own duration; chosen

_T = TypeVar("_T")


class Timing(NamedTuple):
    """The clock (seconds), the sleep (seconds) and the die (0 to 1) of a retry loop; tests pass their own."""

    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    draw: Callable[[], float]


REAL_TIMING: Final = Timing(time.monotonic, anyio.sleep, random.random)  # jitter is no secret: `random` is enough


async def retry_conflicts(
    attempt: Callable[[], Awaitable[_T]],
    document: str,
    within_s: float = RETRY_FOR_S,
    timing: Timing = REAL_TIMING,
) -> _T:
    """Return the result of `attempt`, which is run again whenever it raises ConflictError.

    Each attempt reads, decides and commits from the beginning. `document` names for people what is being written,
    e.g. "program basher". Raises ConflictError, which names it, once `within_s` seconds have passed, and at once
    whatever else the attempt raises.
    """
    end = timing.now() + within_s
    while True:
        began = timing.now()
        try:
            return await attempt()
        except ConflictError as error:
            now = timing.now()
            if now >= end:
                raise ConflictError(
                    f"Others keep writing {document} at the same moment; nothing of this change was written. "
                    "Call again in a minute.",
                    operator_detail=error.operator_detail,
                ) from error
        await timing.sleep(pause_s(now - began, timing.draw()))


def pause_s(attempt_s: float, draw: float) -> float:
    """Return the seconds to wait after a lost attempt: after 0.1 s and with the draw 0.5 it is 0.2.

    The unit is the attempt's own duration: a slow writer waits longer and a fast one does not wait in vain.
    """
    return draw * min(MAX_PAUSE_S, _PAUSE_FACTOR * attempt_s)
