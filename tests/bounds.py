"""How long tests wait for what must come, and how many examples they try."""

import os
from typing import Final

HANG_S: Final = 300
"""Seconds after which a wait is a hang: no work of a test takes so long, at a load of eight either."""

AT_NIGHT: Final = int(os.environ.get("FLEET_MEMORY_HISTORIES", "0"))
"""How many examples each property has every night; 0 by day, when it has a few."""


def examples(by_day: int) -> int:
    """Return how many examples a property has, each time the same ones by day."""
    return AT_NIGHT or by_day
