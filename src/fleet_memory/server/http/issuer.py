"""Verify the tokens of the configured OAuth issuer: JWTs signed by its keys for this service.

Keys, their cache and the checks of a JWT are PyJWT's. A token names its key by `kid`, and this
service as its audience; times are those of this machine's clock.
"""

import logging
import math
import threading
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
from anyio import to_thread
from mcp.server.auth.provider import TokenVerifier

from fleet_memory.errors import IssuerUnavailableError
from fleet_memory.rules.entries import same_program
from fleet_memory.rules.pairs import PERSON
from fleet_memory.rules.tokens import principal_id
from fleet_memory.schemas.programs import ClaimedBearer
from fleet_memory.server.http.access import CallerToken
from fleet_memory.settings import Settings, issuer_address

ALGORITHMS: Final = frozenset(
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
)  # asymmetric ones alone
TYPES: Final = (
    "jwt",
    "at+jwt",
    "application/at+jwt",
)  # of access tokens, RFC 9068; no logout token
LEEWAY_S: Final = 30  # seconds that the issuer's clock may be off; chosen
# seconds until keys are fetched again: a key that the issuer withdrew is taken so long. Chosen
FRESH_S: Final = 600.0
FETCH_WITHIN_S: Final = 10.0  # seconds for one request to the issuer; chosen
MAX_JWT_CHARS: Final = 16_000  # chosen: issuers that list every group of a person send 8,000
MAX_CHECKS: Final = 8  # threads; the issuer may be silent in one, and the store needs others

_SILENT: Final = "The issuer of this token does not answer, and may have a new key."
_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)

_logger = logging.getLogger(__name__)


class IssuerTokens(TokenVerifier):
    """Verifies an issuer's tokens for the service at `endpoint`, e.g.
    "https://mem.example.com/mcp".
    """

    def __init__(self, settings: Settings, issuer: str, endpoint: str) -> None:
        self._settings = settings
        self._issuer = issuer
        self._endpoint = endpoint
        self._audiences = [settings.audience] if settings.audience else [endpoint, f"{endpoint}/"]
        self._keys: jwt.PyJWKClient | None = None
        self._fetching = threading.Lock()
        self._failed_at = -math.inf  # by time.monotonic()
        self._limiter = anyio.CapacityLimiter(MAX_CHECKS)

    async def verify_token(self, token: str) -> CallerToken | None:
        """Return the caller that a token's claims name, None if it is refused.

        Raises IssuerUnavailableError.
        """
        try:
            kid = _key_id(token)
            begun = time.monotonic()
            key = await to_thread.run_sync(self._key, kid, begun, limiter=self._limiter)
            claims: Mapping[str, object] = jwt.decode(
                token,
                key,
                algorithms=[*ALGORITHMS],
                audience=self._audiences,
                issuer=self._issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
            return self._caller(token, claims)
        except _UNREADABLE as refusal:
            _logger.info("a token of the issuer is refused: %s", type(refusal).__name__)
            return None

    def _key(self, kid: str, begun: float) -> jwt.PyJWK:
        """Return a key by its id. Raises IssuerUnavailableError where the keys cannot be fetched,
        PyJWKClientError for an id that the issuer does not have.
        """
        with self._fetching:  # whoever waits has the keys of the first, or its failure
            if self._failed_at > begun:
                raise IssuerUnavailableError(_SILENT)
            try:
                if self._keys is None:
                    url = _keys_address(self._issuer)
                    self._keys = jwt.PyJWKClient(url, lifespan=FRESH_S, timeout=FETCH_WITHIN_S)
                self._keys.get_jwk_set()
            except (*_UNREADABLE, KeyError, httpx2.HTTPError) as problem:
                self._failed_at = time.monotonic()
                raise self._unavailable(problem) from problem
        try:
            return self._keys.get_signing_key(kid)
        except jwt.PyJWKClientConnectionError as problem:
            raise self._unavailable(problem) from problem

    def _unavailable(self, problem: Exception) -> IssuerUnavailableError:
        _logger.warning("the keys of the issuer %s cannot be fetched: %r", self._issuer, problem)
        return IssuerUnavailableError(_SILENT)

    def _caller(self, token: str, claims: Mapping[str, object]) -> CallerToken:
        bearer = bearer_of(claims, self._settings.program_claim, self._settings.role_claim)
        named = claims.get("resource", self._endpoint)  # RFC 8707
        resources = named if isinstance(named, list) else [named]
        if "cnf" in claims or not {*map(str, resources)} & {self._endpoint, *self._audiences}:
            raise jwt.InvalidTokenError("for another resource, or bound to a key")
        principal = principal_id(self._issuer, claims, bearer.program_id)
        return CallerToken(
            token=token,
            client_id=bearer.program_id,
            subject=principal,
            scopes=[],
            resource=self._endpoint,
            claims={"iss": self._issuer},
            token_id=principal,
            program_id=bearer.program_id,
            role=bearer.role,
        )


def _key_id(token: str) -> str:
    """Return the id of a token's key. Raises an error of PyJWT for a header that we do not take."""
    if len(token) > MAX_JWT_CHARS:
        raise jwt.InvalidTokenError("too long")
    header = jwt.get_unverified_header(token)
    algorithm, kind, kid = header.get("alg"), header.get("typ", "jwt"), header.get("kid")
    if algorithm not in ALGORITHMS or str(kind).lower() not in TYPES or "crit" in header:
        raise jwt.InvalidTokenError("no access token, or not signed by a key of an issuer")
    if not kid:
        raise jwt.InvalidTokenError("names no key")
    return str(kid)


def bearer_of(claims: Mapping[str, object], program_claim: str, role_claim: str) -> ClaimedBearer:
    """Return the bearer that the claims name. Raises ValueError without a program, and for
    an unknown role.

    A claim is one text, or a list of one. Without the role's claim, or with an empty list, the
    bearer is an agent.
    """
    program, role = (
        claim[0] if isinstance(claim, list) and len(claim) == 1 else claim
        for claim in (claims.get(program_claim), claims.get(role_claim, []))
    )
    bearer = ClaimedBearer.from_fields(
        {"programId": program} | ({} if role == [] else {"role": role})
    )
    if same_program(bearer.program_id) == PERSON:  # a ledger would take it for a person
        raise ValueError(f"{PERSON} is no program")
    return bearer


def _keys_address(issuer: str) -> str:
    """Return the address of the keys by the issuer's metadata, which must be this issuer's own.

    OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3.
    """
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.removesuffix("/")
    for url in (
        f"{issuer.removesuffix('/')}/.well-known/openid-configuration",
        f"{root}/.well-known/oauth-authorization-server{path}",
    ):
        answer = httpx2.get(url, timeout=FETCH_WITHIN_S)
        if answer.is_success:
            metadata = answer.json()
            if metadata["issuer"] != issuer:
                raise httpx2.HTTPError(f"{url} is the metadata of another issuer")
            return issuer_address(metadata["jwks_uri"])
    raise httpx2.HTTPError(f"{url} answers {answer.status_code}")
