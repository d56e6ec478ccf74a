"""Idempotency keys: the requests that a program remembers, so that a repeated call changes nothing.

A call that creates something is remembered with the id of it, e.g. "(note n7) r1": no name has a
space or a bracket.
"""

from typing import Final

MAX_REQUESTS: Final = 64  # remembered; the oldest are forgotten first


def with_request(requests: tuple[str, ...], request: str | None) -> tuple[str, ...]:
    """Return the requests with one more; the same ones for a call without a request id."""
    return (*requests, request)[-MAX_REQUESTS:] if request else requests


def request_key(kind: str, request_id: str | None, made: str = "") -> str | None:
    """Return the key of a request and its new item, e.g. "(note n7) r1" of "note", "r1", "n7"; None
    without one.
    """
    return f"({kind} {made}) {request_id}" if request_id else None


def result_of(requests: tuple[str, ...], kind: str, request_id: str | None) -> str | None:
    """Return the id that a request created, e.g. "n7" for "note", "r1" among ("(note n7) r1",);
    None if unknown.

    It is "" for a request that created nothing with an id, and the last one's for a name that was
    used twice.
    """
    ending = f") {request_id}"
    known = (
        request.removesuffix(ending)
        for request in reversed(requests)
        if request.startswith(f"({kind} ") and request.endswith(ending)
    )
    return next((request.removeprefix(f"({kind} ") for request in known), None)
