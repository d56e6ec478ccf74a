"""The only loop that tries a commit again after somebody else wrote first."""

import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

import anyio

from fleet_memory.errors import ConflictError, RacesLostError

RETRY_FOR_S: Final = 20.0  # seconds of losing every race until the caller gets a RacesLostError; chosen
MAX_PAUSE_S: Final = 2.0  # seconds; chosen: a tenth of RETRY_FOR_S, the attempts themselves take time too
MIN_ATTEMPTS: Final = 2  # however long one takes: a loop of one attempt is none
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
    document: str | None,
    within_s: float = RETRY_FOR_S,
    timing: Timing = REAL_TIMING,
) -> _T:
    """Return the result of `attempt`, which is run again whenever it raises ConflictError.

    Each attempt reads, decides and commits from the beginning. `document` names for people the document that is
    written, e.g. "program basher"; None for a read, whose own message is kept. Raises RacesLostError, which names it,
    once `within_s` seconds and two attempts have passed. Any other error is raised at once, and so is the
    RacesLostError of a loop inside the attempt, which names the document that conflicts.
    """
    end = timing.now() + within_s
    attempts = 0
    while True:
        attempts += 1
        began = timing.now()
        try:
            return await attempt()
        except RacesLostError:
            raise
        except ConflictError as error:
            now = timing.now()
            if now >= end and attempts >= MIN_ATTEMPTS:
                message = f"Others keep writing {document} at the same moment. Call again in a minute."
                raise RacesLostError(
                    message if document else str(error), operator_detail=error.operator_detail
                ) from error
        await timing.sleep(pause_s(now - began, timing.draw()))


def pause_s(attempt_s: float, draw: float) -> float:
    """Return the seconds to wait after a lost attempt: after 0.1 s and with the draw 0.5 it is 0.2.

    The unit is the attempt's own duration: a slow writer waits longer and a fast one does not wait in vain.
    """
    return draw * min(MAX_PAUSE_S, _PAUSE_FACTOR * attempt_s)
