"""The address of a service, and the environment variable of its token, as a person gives them."""

import re
from typing import Final, NamedTuple

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.settings.values import http_parts, is_loopback

TOKEN_VARIABLE: Final = "FLEET_MEMORY_TOKEN"  # noqa: S105 the name of a variable
_ENDPOINT: Final = "/mcp"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Address(NamedTuple):
    """Where a service answers MCP, e.g. "https://fleet.example/mcp", and the address above it,
    where its health is.
    """

    url: str
    above: str
    host: str

    @property
    def is_local(self) -> bool:
        """Whether it is this machine's own, e.g. of "127.0.0.1"."""
        return is_loopback(self.host)

    @property
    def is_secret(self) -> bool:
        """Whether others on the way cannot read a token: by TLS, or because it stays on this
        machine.
        """
        return self.is_local or self.url.startswith("https:")


def address_of(text: str) -> Address:
    """Return the address that a text names, of the service or of its endpoint. Raises
    InvalidArgumentError.
    """
    try:
        parts = http_parts(text.strip())
    except ValueError as error:  # which may repeat a token
        raise InvalidArgumentError(
            "--url: it must be an http or https address without a user, a query or a fragment, "
            "e.g. "
            "https://fleet.example/mcp; a token belongs in the variable that --token-env names"
        ) from error
    above = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(_ENDPOINT)}"
    return Address(above + _ENDPOINT, above, parts.hostname or "")


def token_variable(name: str) -> str:
    """Return the name of a variable. Raises InvalidArgumentError, which never repeats it: it may be
    the token.
    """
    if name.startswith("fm_"):
        raise InvalidArgumentError(
            "--token-env: this is a token; put it into a variable and name that, e.g. "
            "--token-env FLEET_MEMORY_TOKEN. "
            "It is in your shell's history now: revoke it"
        )
    if not _VARIABLE.fullmatch(name):
        raise InvalidArgumentError("--token-env: it must be the name of an environment variable")
    return name
