"""How long tests wait for what must come."""

from typing import Final

HANG_S: Final = 300
"""Seconds after which a wait is a hang: no work of a test takes so long, at a load of eight either."""
