"""Idempotency keys: the requests that a program remembers, so that a repeated call changes nothing."""

from typing import Final

MOST_REQUESTS: Final = 64  # remembered; the oldest are forgotten first


def remembered(requests: tuple[str, ...], request: str | None) -> tuple[str, ...]:
    """Return the requests with one more, None for a call that named none."""
    return (*requests, request)[-MOST_REQUESTS:] if request else requests
