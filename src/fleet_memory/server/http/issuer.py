"""Verifies the tokens of the configured OAuth issuer: JWTs, by its public keys, for this service
alone.
"""

import logging
from collections.abc import Mapping
from typing import Final

import jwt
from mcp.server.auth.provider import TokenVerifier

from fleet_memory.rules.identity.claims import bearer_of, is_for_resource, principal_id
from fleet_memory.server.http.access import CallerToken
from fleet_memory.server.http.signing_keys import JsonKey, SigningKeys
from fleet_memory.settings.issuer import IssuerSettings

ALGORITHMS: Final[
    Mapping[str, tuple[str, str | None]]
] = {  # asymmetric ones alone: name -> kind of key, curve
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
TYPES: Final = (
    "jwt",
    "at+jwt",
    "application/at+jwt",
)  # of access tokens, RFC 9068; a logout token is none
LEEWAY_S: Final = 30  # seconds that the issuer's clock may be off; chosen
MAX_JWT_CHARS: Final = (
    16_000  # characters; chosen: issuers that list every group of a person send 8,000
)
MAX_KEYS_TRIED: Final = 8  # where the token names no key, or several have its name; chosen
MIN_MODULUS_CHARS: Final = (
    342  # of an RSA key, in base64: 2,048 bits; Source: RFC 7518, section 3.3
)

_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)

_logger = logging.getLogger(__name__)


class IssuerTokens(TokenVerifier):
    """Verifies an issuer's tokens for the service at `endpoint`, e.g.
    "https://mem.example.com/mcp".

    A token names it as its audience, and as its resource if it names any. Times are those of this
    machine's clock.
    """

    def __init__(self, issuer: IssuerSettings, endpoint: str, keys: SigningKeys) -> None:
        self._issuer = issuer
        self._keys = keys
        self._endpoint = endpoint
        self._audiences = [issuer.audience] if issuer.audience else [endpoint, f"{endpoint}/"]

    async def verify_token(self, token: str) -> CallerToken | None:
        """Return the caller that a token's claims name, None for a token that is not admitted.

        Raises IssuerUnavailableError.
        """
        header = _readable_header(token)
        if header is None:
            return None
        algorithm = header["alg"]
        candidates = await self._keys.having(header.get("kid"))
        keys = [key for key in candidates if _is_for_algorithm(key, algorithm)][:MAX_KEYS_TRIED]
        claims = next(filter(None, (self._claims(token, key, algorithm) for key in keys)), None)
        return self._caller(token, claims) if claims else None

    def _claims(self, token: str, key: JsonKey, algorithm: str) -> dict[str, object] | None:
        """Return the claims of a token that this key signed, for us and for now; else None."""
        try:
            claims: dict[str, object] = jwt.decode(
                token,
                jwt.PyJWK(dict(key), algorithm).key,
                algorithms=[algorithm],
                audience=self._audiences,
                issuer=self._issuer.url,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except _UNREADABLE as refusal:
            _logger.info("a token of the issuer is refused: %s", type(refusal).__name__)
            return None
        return claims

    def _caller(self, token: str, claims: Mapping[str, object]) -> CallerToken | None:
        bearer = bearer_of(claims, self._issuer.program_claim, self._issuer.role_claim)
        if bearer is None:
            names = self._issuer.program_claim, self._issuer.role_claim
            _logger.info(
                "a token of the issuer is refused: its claims %r and %r name no program and role",
                *names,
            )
            return None
        if "cnf" in claims or not is_for_resource(claims, [self._endpoint, *self._audiences]):
            _logger.info(
                "a token of the issuer is refused: it is for another resource, or bound to a key"
            )
            return None
        principal = principal_id(self._issuer.url, claims, bearer.program_id)
        return CallerToken(
            token=token,
            client_id=bearer.program_id,
            subject=principal,
            scopes=[],
            resource=self._endpoint,
            claims={"iss": self._issuer.url},
            token_id=principal,
            program_id=bearer.program_id,
            role=bearer.role,
        )


def _readable_header(token: str) -> dict[str, str] | None:
    """Return the header of a token as far as it is one that we take; nothing in it is verified
    yet.
    """
    if len(token) > MAX_JWT_CHARS or token.count(".") != 2:
        return None
    try:
        header = jwt.get_unverified_header(token)
    except _UNREADABLE:
        return None
    algorithm, kind, kid = header.get("alg"), header.get("typ", "jwt"), header.get("kid")
    if not (isinstance(algorithm, str) and isinstance(kind, str) and isinstance(kid, str | None)):
        return None
    if algorithm not in ALGORITHMS or kind.lower() not in TYPES or "crit" in header:
        return None
    return {"alg": algorithm, **({"kid": kid} if kid is not None else {})}


def _is_for_algorithm(key: JsonKey, algorithm: str) -> bool:
    """Whether a public key is of the algorithm's kind, and for no other; short RSA keys are for
    none.
    """
    kind, curve = ALGORITHMS[algorithm]
    is_kind = key.get("kty") == kind and (curve is None or key.get("crv") == curve)
    is_long = kind != "RSA" or len(str(key.get("n"))) >= MIN_MODULUS_CHARS
    return is_kind and is_long and key.get("alg", algorithm) == algorithm and "d" not in key
