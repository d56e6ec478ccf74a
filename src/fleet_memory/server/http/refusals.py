"""Logs why bearers are refused or cannot be checked, without a text of theirs, and without flooding
the log.
"""

import logging
from collections.abc import Callable
from typing import Final

from fleet_memory.errors import FleetMemoryError

LOG_EVERY_S: Final = 60.0  # seconds between two lines of one reason and token; chosen

_logger = logging.getLogger(__name__)


class RefusalLog:
    """Writes a line for each reason and token, at most one in `LOG_EVERY_S`; metrics count every
    answer.

    `elapsed` counts seconds and never goes back.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._last: dict[tuple[str, str], float] = {}

    def note(self, reason: str, token_id: str = "") -> None:
        """Log a refusal; `token_id` is of a token that this fleet made, so those are few."""
        if self._is_due(reason, token_id):
            _logger.warning("a bearer is refused: %s%s", reason, token_id and f", token {token_id}")

    def note_unavailable(self, error: FleetMemoryError) -> None:
        """Log why tokens cannot be checked; during an outage every call fails for one reason."""
        if self._is_due(error.code, ""):
            _logger.warning(
                "tokens cannot be checked: %s", f"{error} {error.operator_detail}".rstrip()
            )

    def _is_due(self, reason: str, token_id: str) -> bool:
        now, key = self._elapsed(), (reason, token_id)
        if now - self._last.get(key, -LOG_EVERY_S) < LOG_EVERY_S:
            return False
        self._last[key] = now
        return True
