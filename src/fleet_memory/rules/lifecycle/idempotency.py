"""Idempotency keys: the requests that a program remembers, so that a repeated call changes nothing.

A call that makes something is remembered as a mark, "(note n7) request": no name holds a space or a bracket.
"""

from typing import Final

MOST_REQUESTS: Final = 64  # remembered; the oldest are forgotten first


def remembered(requests: tuple[str, ...], request: str | None) -> tuple[str, ...]:
    """Return the requests with one more, None for a call that named none."""
    return (*requests, request)[-MOST_REQUESTS:] if request else requests


def mark(kind: str, request_id: str | None, made: str = "") -> str | None:
    """Return how a request of this kind, and what it made, is remembered; None without one."""
    return f"({kind} {made}) {request_id}" if request_id else None


def made_by(requests: tuple[str, ...], kind: str, request_id: str | None) -> str | None:
    """Return what a request of this kind made, "" for nothing with a name; None for an unknown request."""
    ending = f") {request_id}"
    known = (one.removesuffix(ending) for one in requests if one.startswith(f"({kind} ") and one.endswith(ending))
    return next((one.removeprefix(f"({kind} ") for one in known), None)
