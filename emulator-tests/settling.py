"""Count the effects of a killed server: the store may still be carrying out the last commit that it
received.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from tests.bounds import HANG_S

QUIET_S = 0.3  # the emulator finishes a commit within some 50 ms, even on a busy machine
MIN_COUNTS = 4  # that are equal, however few the machine makes in QUIET_S
# between two looks at a server's work: a test that spins starved two servers for half a minute
POLL_S = 0.005

T = TypeVar("T")


async def look_again() -> None:
    """Leave the processor to other processes before the next look at their work."""
    await anyio.sleep(POLL_S)


async def settled(count: Callable[[], Awaitable[T]]) -> T:
    """Return the first count that repeats for QUIET_S and MIN_COUNTS times; raise TimeoutError if
    there is none.

    A count makes several reads. A commit that lands between two of them is in one and not in the
    other, but then the next count differs: two equal counts have both seen it whole, or not at all.
    A commit that was applied by half stays so, and every count shows it.
    """
    with anyio.fail_after(HANG_S):
        seen, since, equal = await count(), anyio.current_time(), 1
        while equal < MIN_COUNTS or anyio.current_time() - since < QUIET_S:
            again = await count()
            if again == seen:
                equal += 1
            else:
                seen, since, equal = again, anyio.current_time(), 1
        return seen
