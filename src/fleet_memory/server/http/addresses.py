"""Everything that follows from the address that the server binds and the URL under which clients
reach it.
"""

import re
import unicodedata
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from fleet_memory.errors import SettingsError
from fleet_memory.settings.values import is_loopback
from fleet_memory.store_address import quoted

ENDPOINT_PATH: Final = "/mcp"
_METADATA_PATH: Final = (
    "/.well-known/oauth-protected-resource"  # then the resource's path: RFC 9728, section 3.1
)
_LABEL: Final = re.compile(
    r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
)  # of a name; RFC 1123 but for "_", as containers have
_MAX_NAME_CHARS: Final = 253  # Source: RFC 1035, section 2.3.4
_ENCODED: Final = "xn--"  # Source: RFC 3490, section 5
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")  # as a Host header names them


class Addresses(NamedTuple):
    """Where clients find the server.

    `endpoint` is the URL that clients are given, and the OAuth resource, e.g.
    "https://mem.example.com/team/mcp". `prefix` is its path before `ENDPOINT_PATH`, e.g. "/team",
    and `metadata_path` is where a client looks for the metadata of the resource. `hosts` and
    `origins` are the values of Host and Origin that are answered; ":*" at the end stands for any
    port. `is_local` is false for a server that other machines can reach.
    """

    endpoint: str
    prefix: str
    metadata_path: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    is_local: bool


class Bind(NamedTuple):
    """An address to listen on; port 0 is any free one. Where it `may_be_taken`, the server goes on
    without.
    """

    host: str
    port: int
    may_be_taken: bool = False


def bind_of(text: str, flag: str = "--http") -> Bind:
    """Return an address, e.g. "0.0.0.0:8080" or "[::1]:8080". Raises SettingsError."""
    try:
        host, port = host_and_port(text)
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
    public_name = _bracketed(
        public.hostname or ""
    )  # a proxy may leave the port out of the Host header
    foreign = [*([public_name] if public_url else []), *(name.lower() for name in allowed_hosts)]
    names = dict.fromkeys([*_LOOPBACK_HOSTS, _bracketed(host), *foreign])
    hosts = tuple(spelt for name in names for spelt in _with_ports(name))
    return Addresses(
        endpoint=f"{public.scheme}://{public_host}{prefix}{ENDPOINT_PATH}",
        prefix=prefix,
        metadata_path=f"{_METADATA_PATH}{prefix}{ENDPOINT_PATH}",
        hosts=hosts,
        origins=tuple(f"{scheme}://{spelt}" for spelt in hosts for scheme in ("http", "https")),
        is_local=is_loopback(host)
        and all(is_loopback(urlsplit(f"//{name}").hostname or "") for name in foreign),
    )


def allowed_host(text: str) -> str:
    """Return a host as clients send it, e.g. "xn--bcher-kva.example:8443" of "Bücher.example:8443".

    Raises SettingsError.
    """
    try:
        host, port = host_and_port(text)
    except _TwoSpellingsError as error:
        problem = (
            "is sent in two spellings, by clients of two standards: give yours, which begins with "
            f"{_ENCODED}"
        )
        raise SettingsError(f"--allowed-host: {quoted(text)} {problem}.") from error
    except ValueError as error:
        problem = f"{quoted(text)} is no host, e.g. mem.example.com or mem.example.com:8443."
        raise SettingsError(f"--allowed-host: {problem}") from error
    return _bracketed(host) if port is None else f"{_bracketed(host)}:{port}"


class _TwoSpellingsError(ValueError):
    """A name whose letters IDNA of 2003 and of 2008 spell in two ways, each of which may be
    another's.
    """


def host_and_port(text: str) -> tuple[str, int | None]:
    """Return the parts of e.g. "[::1]:8080" or "mem.example.com", a name as clients send it. Raises
    ValueError.
    """
    parts = urlsplit(f"//{text}")
    host, port = parts.hostname or "", parts.port  # `port` raises if it is none
    if parts.netloc != text or "@" in text or text.endswith(":"):
        raise ValueError("not a host and a port alone")
    if text.startswith("["):
        ip_address(host)
        return host, port
    name = ".".join(_sent_label(label) for label in host.removesuffix(".").split("."))
    if len(name) > _MAX_NAME_CHARS:
        raise ValueError("too long a name")
    return name + "." * host.endswith("."), port


def _sent_label(label: str) -> str:
    """Return a part of a name as clients send it, e.g. "xn--bcher-kva" of "bücher". Raises
    ValueError.
    """
    sent = label.encode("idna").decode().lower()
    if not _LABEL.fullmatch(sent):
        raise ValueError("no part of a name")
    if label.isascii():
        if sent.startswith(_ENCODED) and not sent.removeprefix(_ENCODED).encode().decode(
            "punycode"
        ):
            raise ValueError("nothing is encoded")
    elif sent.encode().decode("idna") != unicodedata.normalize("NFKC", label.lower()):
        raise _TwoSpellingsError
    return sent


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


def _with_ports(name: str) -> list[str]:
    """Return a name as Host headers spell it: with any port, unless it has one."""
    return [name] if urlsplit(f"//{name}").port else [name, f"{name}:*"]
