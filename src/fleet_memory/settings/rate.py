"""How much one token may ask of a server: a pure rule over one number per token."""

import re
from typing import Final, NamedTuple

MAX_RATE: Final = 1_000_000  # calls; far more than one process answers in a minute
_MINUTE_S: Final = 60.0


class Rate(NamedTuple):
    """Calls a minute, and calls at once."""

    calls: int
    at_once: int

    @classmethod
    def parsed(cls, text: str) -> "Rate":
        """Return a rate, e.g. "600/16" for 600 calls a minute and 16 at once. Raises ValueError."""
        if not re.fullmatch(r"[0-9]{1,7}/[0-9]{1,7}", text):
            raise ValueError(f"{text[:40]!r} is no rate")
        rate = cls(*map(int, text.split("/")))
        if not all(1 <= number <= MAX_RATE for number in rate):
            raise ValueError(f"{text!r} is out of range")
        return rate

    def wait_s(self, free_at: float, now: float) -> float:
        """Return the seconds until the next call is allowed, 0 for now.

        `free_at` is the time when all calls so far are paid for, each with a minute's share: a
        token that asked for nothing lately may ask for a minute's calls at once, and then for one
        each share. This is the generic cell rate algorithm (ITU-T I.371).
        """
        return max(0.0, free_at + self._share_s - _MINUTE_S - now)

    def paid(self, free_at: float, now: float) -> float:
        """Return `free_at` after a call that is made now."""
        return max(free_at, now) + self._share_s

    @property
    def _share_s(self) -> float:
        return _MINUTE_S / self.calls
