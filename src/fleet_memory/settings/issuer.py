"""The settings of an issuer, whose signed tokens a server takes in addition to the fleet's own."""

import re
from typing import Final, NamedTuple

from fleet_memory.settings.row import Setting
from fleet_memory.settings.values import http_parts, is_loopback, quoted_address
from fleet_memory.store_address import quoted

_PRINTABLE = re.compile(r"[\x21-\x7e]{1,200}")


class IssuerSettings(NamedTuple):
    """An issuer by its exact name in `iss`, and the names of the claims that say who the bearer is.

    `audience` is the name of this service in `aud`, None for the address of its endpoint.
    `jwks_url` is where the issuer's keys are, None to ask the issuer.
    """

    url: str
    audience: str | None
    jwks_url: str | None
    program_claim: str
    role_claim: str


ISSUER_ROWS: Final = (
    Setting(
        "issuer",
        "",
        "an https address, exactly as `iss` spells it; http on this machine alone",
        "The OAuth issuer whose signed tokens (JWTs) `serve --http` takes in addition to the "
        "fleet's own. "
        "Clients are told where it is.",
    ),
    Setting(
        "audience",
        "",
        "a text without spaces",
        "The name of this service in the issuer's tokens (`aud`). Without it: the address of "
        "the endpoint, as clients "
        "send it as `resource`.",
    ),
    Setting(
        "jwks_url",
        "",
        "an https address; http on this machine alone",
        "Where the issuer's public keys are. Without it the issuer's own metadata says where.",
    ),
    Setting(
        "program_claim",
        "sub",
        "a text without spaces",
        "The claim of the issuer's tokens that names the program of their bearer.",
    ),
    Setting(
        "role_claim",
        "role",
        "a text without spaces",
        "The claim that names the role of their bearer: agent, judge, auditor or admin. "
        "Without it: an agent.",
    ),
)


def issuer_address(text: str) -> str:
    """Return the address of an issuer or of its keys. Raises ValueError; plain http could be
    forged.
    """
    parts = http_parts(text)
    if not _PRINTABLE.fullmatch(text):
        raise ValueError(f"{quoted_address(text)} is no address")
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError(f"{quoted_address(text)} is no https address")
    return text


def claim_name(text: str) -> str:
    """Return the name of a claim or of an audience. Raises ValueError."""
    if not _PRINTABLE.fullmatch(text):
        raise ValueError(f"{quoted(text)} is no name")
    return text
