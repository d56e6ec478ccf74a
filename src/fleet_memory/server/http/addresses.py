"""Everything that follows from the address that the server binds and the URL under which clients
reach it.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from fleet_memory.errors import SettingsError
from fleet_memory.extensions import quoted

ENDPOINT_PATH: Final = "/mcp"
_NAME: Final = re.compile(
    r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?"
)  # RFC 1123 but for "_", as containers have; a name with other letters is written xn--…
_MAX_NAME_CHARS: Final = 253  # Source: RFC 1035, section 2.3.4
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")  # as a Host header names them


class Addresses(NamedTuple):
    """Where clients find the server.

    `endpoint` is the URL that clients are given, and the OAuth resource, e.g.
    "https://mem.example.com/team/mcp". `prefix` is its path before `ENDPOINT_PATH`, e.g. "/team".
    `hosts` and `origins` are the values of Host and Origin that are answered; ":*" at the end
    stands for any port.
    """

    endpoint: str
    prefix: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...]


class Bind(NamedTuple):
    """An address to listen on; port 0 is any free one. If it `may_be_taken`, the server starts
    without it.
    """

    host: str
    port: int
    may_be_taken: bool = False


def bind_of(text: str, flag: str = "--http") -> Bind:
    """Return an address, e.g. "0.0.0.0:8080" or "[::1]:8080". Raises SettingsError."""
    try:
        host, port = _host_and_port(text)
    except ValueError:
        port = None
    if port is None:
        raise SettingsError(
            f"{flag}: {quoted(text)} is no HOST:PORT, e.g. 127.0.0.1:8765 or [::1]:8765."
        )
    return Bind(host, port)


def addresses(
    host: str, port: int, public_url: str | None = None, allowed_hosts: Sequence[str] = ()
) -> Addresses:
    """Return the addresses of a server that binds `host`, e.g. "0.0.0.0", and is known by the
    public URL, if any.

    The public URL is that of the server or of its endpoint, with or without a slash at its end.
    """
    public = urlsplit(public_url or f"http://{_bracketed(host)}:{port}")
    prefix = public.path.rstrip("/").removesuffix(ENDPOINT_PATH)
    public_host = public.netloc.lower().removesuffix(
        {"https": ":443", "http": ":80"}[public.scheme]
    )
    # a proxy may leave the port out of the Host header
    foreign = [_bracketed(public.hostname or "")] if public_url else []
    names = dict.fromkeys([*_LOOPBACK_HOSTS, _bracketed(host), *foreign, *allowed_hosts])
    hosts = tuple(
        spelt
        for name in names
        for spelt in ([name] if urlsplit(f"//{name}").port else [name, f"{name}:*"])
    )
    return Addresses(
        endpoint=f"{public.scheme}://{public_host}{prefix}{ENDPOINT_PATH}",
        prefix=prefix,
        hosts=hosts,
        origins=tuple(f"{scheme}://{spelt}" for spelt in hosts for scheme in ("http", "https")),
    )


def allowed_host(text: str) -> str:
    """Return a host as clients send it, e.g. "mem.example.com:8443" of "Mem.example.com:8443".

    Raises SettingsError.
    """
    try:
        host, port = _host_and_port(text)
    except ValueError as error:
        problem = f"{quoted(text)} is no host, e.g. mem.example.com or mem.example.com:8443."
        raise SettingsError(f"--allowed-host: {problem}") from error
    return _bracketed(host) if port is None else f"{_bracketed(host)}:{port}"


def _host_and_port(text: str) -> tuple[str, int | None]:
    """Return the parts of e.g. "[::1]:8080" or "mem.example.com". Raises ValueError."""
    parts = urlsplit(f"//{text}")
    host, port = parts.hostname or "", parts.port  # `port` raises if it is none
    if parts.netloc != text or text.endswith(":"):
        raise ValueError("not a host and a port alone")
    if text.startswith("["):
        ip_address(host)
    elif len(host) > _MAX_NAME_CHARS or not _NAME.fullmatch(host) or "@" in text:
        raise ValueError("no name of a host")
    return host, port


def is_unspecified(host: str) -> bool:
    """Whether a host, e.g. "0.0.0.0", stands for every address of this machine, and is a name that
    no client uses.
    """
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
