"""Who a bearer token admits: a token of the fleet's own, by its record in the store, or one of the
configured issuer.

A token that cannot be checked, because the store or the issuer does not answer, is answered with
503: after a 401 its bearer would throw it away.
"""

import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import date, datetime
from typing import Final

import anyio
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.types import ASGIApp, Receive, Scope, Send

from fleet_memory.errors import FleetMemoryError
from fleet_memory.repositories.tokens import Tokens, VersionedKey, VersionedToken
from fleet_memory.rules.identity.tokens import (
    TOKEN_PREFIX,
    bearer_refusal,
    is_made_with,
    parsed_token,
)
from fleet_memory.schemas.tokens import TokenRecord
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.access import CallerToken
from fleet_memory.server.http.issuer import IssuerTokens
from fleet_memory.server.http.refusals import RefusalLog
from fleet_memory.server.http.short_cache import MAX_AGE_S, ShortCache
from fleet_memory.server.http.signing_keys import SigningKeys
from fleet_memory.settings import Settings

NOTE_WITHIN_S: Final = 2.0  # seconds that a call waits for the note of its token's use; chosen


class VerificationUnavailableError(Exception):
    """A token cannot be checked at present. `UnavailableAnswer` turns it into a 503."""


class FleetTokens(TokenVerifier):
    """Verifies the fleet's own tokens, by records of the store that are at most 5 s old.

    A text that is not spelt like a token, or whose id was not made with the fleet's key, costs no
    read. `now` is the fleet's clock, for expiry; `elapsed` counts the seconds of the cache and
    never goes back.
    """

    def __init__(
        self,
        tokens: Callable[[], Awaitable[Tokens]],
        now: Callable[[], datetime],
        endpoint: str,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens = tokens
        self._now = now
        self._endpoint = endpoint
        self._keys = ShortCache[VersionedKey](elapsed)
        self._records = ShortCache[VersionedToken](elapsed)
        self._refusals = RefusalLog(elapsed)
        self._key: bytes | None = None
        self._noted: dict[str, date] = {}  # by the ids of tokens that admitted somebody

    async def verify_token(self, token: str) -> CallerToken | None:
        """Return the caller of a live token, None for any other text.

        Billed 1 read of its record and at most 1 of the key in 5 s, and 1 write a day. Raises the
        store's errors.
        """
        parts = parsed_token(token)
        if parts is None:
            self._refusals.note("malformed")
            return None
        tokens = await self._tokens()
        if not await self._is_ours(tokens, parts.token_id):
            self._refusals.note("unknown, not of this fleet")
            return None
        versioned = await self._records.get(parts.token_id, lambda: tokens.read(parts.token_id))
        now = self._now()
        if versioned is None:
            self._refusals.note("unknown, erased or unreadable", parts.token_id)
            return None
        if reason := bearer_refusal(versioned.record, parts.secret, now):
            self._refusals.note(reason, parts.token_id)
            return None
        await self._note_use(tokens, versioned, now.date())
        return self._caller(versioned.record, token)

    async def _is_ours(self, tokens: Tokens, token_id: str) -> bool:
        """Whether the fleet made this id: by the known key, or by the present one, should it be
        another.
        """
        if self._key is not None and is_made_with(self._key, token_id):
            return True
        versioned = await self._keys.get("", tokens.read_key)
        if versioned is None or versioned.key is None:
            return False
        self._key = bytes.fromhex(versioned.key.key)
        return is_made_with(self._key, token_id)

    async def _note_use(self, tokens: Tokens, versioned: VersionedToken, today: date) -> None:
        """Note the day of the last use, once a day, as far as the store takes it: no call fails for
        it.
        """
        record = versioned.record
        if record.last_used_on == today or self._noted.get(record.token_id) == today:
            return
        self._noted[record.token_id] = today
        with anyio.move_on_after(NOTE_WITHIN_S), suppress(FleetMemoryError):
            await tokens.store.commit(tokens.note_use(versioned, today))

    def _caller(self, record: TokenRecord, token: str) -> CallerToken:
        return CallerToken(
            token=token,
            client_id=record.program_id,
            subject=record.token_id,
            scopes=[],
            resource=self._endpoint,
            token_id=record.token_id,
            program_id=record.program_id,
            role=record.role,
            toolsets=record.toolsets,
        )


class BearerTokens(TokenVerifier):
    """Verifies a bearer token by its spelling: the fleet's own begin with `fm_`, all others are the
    issuer's.
    """

    def __init__(self, own: TokenVerifier, issuer: TokenVerifier | None) -> None:
        self._own = own
        self._issuer = issuer
        self._refusals = RefusalLog(time.monotonic)

    async def verify_token(self, token: str) -> CallerToken | None:
        """Return the caller of a token, None for one that is not admitted. Raises
        VerificationUnavailableError.
        """
        verifier = self._own if token.startswith(TOKEN_PREFIX) else self._issuer
        try:
            access_token = await verifier.verify_token(token) if verifier else None
        except FleetMemoryError as error:
            self._refusals.note_unavailable(error)
            raise VerificationUnavailableError from error
        if access_token is None and verifier is not self._own:
            self._refusals.note(
                "not admitted by the issuer's rules" if verifier else "malformed, no fm_ token"
            )
        return access_token if isinstance(access_token, CallerToken) else None


def verifier_of(settings: Settings, lazy: LazyFleet, endpoint: str) -> TokenVerifier:
    """Return the verifier of a server's bearer tokens at its endpoint, e.g.
    "https://mem.example.com/mcp".

    The fleet opens, and the issuer is asked for its keys, with the first token.
    """
    issuer = settings.issuer
    signed = IssuerTokens(issuer, endpoint, SigningKeys(issuer)) if issuer else None

    return BearerTokens(FleetTokens(lazy.tokens, lazy.now, endpoint), signed)


def auth_settings(settings: Settings, endpoint: str) -> AuthSettings:
    """Return how mcp guards the endpoint: with an issuer, clients find it by the metadata of the
    resource (RFC 9728).

    Without one no resource is named: clients would look for an issuer that there is not.
    """
    if settings.issuer is None:
        return AuthSettings(
            issuer_url=AnyHttpUrl(endpoint), resource_server_url=None
        )  # mandatory, and unused
    # from texts: a URL object has a slash at its end, and `iss` need not
    return AuthSettings.model_validate(
        {
            "issuer_url": settings.issuer.url,
            "resource_server_url": endpoint,
            "validate_token_resource": True,
        }
    )


class UnavailableAnswer:
    """An ASGI middleware, outside the one that authenticates: a token that cannot be checked is
    answered with 503.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; the answer is 503 if its token cannot be checked."""
        try:
            await self._app(scope, receive, send)
        except VerificationUnavailableError:
            await _send_unavailable(send)


async def _send_unavailable(send: Send) -> None:
    """Send the 503, which says when to come back."""
    words = "Tokens cannot be checked at the moment. Keep yours, and send the same request again."
    body = json.dumps({"error": "temporarily_unavailable", "error_description": words}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(round(MAX_AGE_S)).encode()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
