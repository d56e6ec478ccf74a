"""Who the claims of an issuer's token name, once its signature, issuer, audience and times are
checked.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from fleet_memory.rules.consensus.deciding import PERSON
from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.schemas.tokens import ClaimedBearer
from fleet_memory.schemas.value import InvalidValueError

_PRINCIPAL: Final = "jwt-"
_ID_DIGITS: Final = 16
_ID: Final = re.compile(rf"{_PRINCIPAL}[0-9a-f]{{{_ID_DIGITS}}}")


def bearer_of(
    claims: Mapping[str, object], program_claim: str, role_claim: str
) -> ClaimedBearer | None:
    """Return the bearer that the claims name; None without a program, and for a role that there is
    not.

    A claim is one text, or a list of one. Without the role's claim, or with an empty list, the
    bearer is an agent.
    """
    program, role = claims.get(program_claim), claims.get(role_claim, [])
    fields = {"programId": _single(program), **({} if role == [] else {"role": _single(role)})}
    try:
        bearer = ClaimedBearer.from_fields(fields)
    except InvalidValueError:
        return None
    return (
        None if same_program(bearer.program_id) == PERSON else bearer
    )  # a ledger would take it for a person


def is_for_resource(claims: Mapping[str, object], resources: Sequence[str]) -> bool:
    """Whether a token that names resources (RFC 8707) names one of these, a slash at the end aside;
    one need not.
    """
    if "resource" not in claims:
        return True
    named = claims["resource"]
    texts = named if isinstance(named, list) else [named]
    known = {each.removesuffix("/") for each in resources}
    return any(isinstance(text, str) and text.removesuffix("/") in known for text in texts)


def principal_id(issuer: str, claims: Mapping[str, object], program_id: str) -> str:
    """Return an id of the token's principal, e.g. "jwt-3f1c9a…": the same for all tokens of its
    `sub`.
    """
    subject = str(claims.get("sub", program_id))
    return (
        _PRINCIPAL
        + hashlib.sha256(f"{issuer} {subject}".encode(errors="surrogatepass")).hexdigest()[
            :_ID_DIGITS
        ]
    )


def is_principal_id(text: str) -> bool:
    """Whether a text is spelt like an id of `principal_id`. An id opens nothing."""
    return _ID.fullmatch(text) is not None


def _single(claim: object) -> object:
    return claim[0] if isinstance(claim, list) and len(claim) == 1 else claim
