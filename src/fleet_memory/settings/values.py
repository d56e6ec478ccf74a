"""The values of settings as their users write them. An unreadable value raises ValueError with the
reason.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from fleet_memory.store_address import quoted

OFF: Final = "off"
MIN_MAINTENANCE_MINUTES: Final = 0.01
MAX_MAINTENANCE_MINUTES: Final = 1440.0

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}")
_HOST_AND_PATH = re.compile(r"[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~-]+)*/?")


def one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    """Return the parser of one of these words."""

    def check(text: str) -> str:
        if text not in known:
            raise ValueError(f"{quoted(text)} is unknown")
        return text

    return check


def embedder_name(text: str) -> str:
    """Return the name of an engine, e.g. "minilm" or "openai:text-embedding-3-small"."""
    kind, _, model = text.partition(":")
    if text not in ("minilm", "lexical") and not (kind == "openai" and _MODEL.fullmatch(model)):
        raise ValueError(f"{quoted(text)} is unknown")
    return text


def http_parts(text: str) -> SplitResult:
    """Return the parts of an http or https address: a host, perhaps a port and a path, and nothing
    else.

    Raises ValueError, which repeats no text that may hold a password or a key.
    """
    if "@" in text.partition("//")[2].partition("/")[0]:
        raise ValueError("holds a user or a password; a key has a variable of its own")
    try:
        parts = urlsplit(text)
        if (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and not (parts.query or parts.fragment)
        ):
            return parts
    except ValueError:  # of the host or the port, which it repeats
        pass
    raise ValueError(f"{quoted_address(text)} is no address")


def quoted_address(text: str) -> str:
    """Return a bad address as an error repeats it: "it" where it may hold a password or a key,
    however it is spelt.
    """
    return "it" if any(sign in text for sign in "@?#") else quoted(text)


def address(text: str) -> str:
    """Return an http or https address as it is written. Raises as `http_parts`."""
    http_parts(text)
    return text


def public_address(text: str) -> str:
    """Return an address that clients are given: a plain host and path, e.g.
    "https://mem.example.com/team".
    """
    parts = http_parts(text)
    if not _HOST_AND_PATH.fullmatch(parts.netloc + parts.path):
        raise ValueError(f"{quoted_address(text)} is no address")
    return text


def seconds_of_minutes(text: str) -> float:
    """Return the seconds of as many minutes, 0.0 for `OFF`."""
    if text.lower() == OFF:
        return 0.0
    try:
        minutes = float(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is no number") from error
    if not MIN_MAINTENANCE_MINUTES <= minutes <= MAX_MAINTENANCE_MINUTES:
        raise ValueError(f"{quoted(text)} is out of range")
    return minutes * 60


def instant(text: str) -> datetime:
    """Return an instant in UTC, e.g. of "2026-03-07T12:00:00Z"."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{quoted(text)} is no instant") from error
    raise ValueError(f"{quoted(text)} has no zone")


def is_loopback(host: str) -> bool:
    """Whether a host, e.g. "::1" or "localhost", is this machine and no other can reach it."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
