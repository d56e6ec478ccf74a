"""A server that only its own machine reaches is open until its fleet has a token, and asks for one
from then on.
"""

import secrets
import time
from collections.abc import Awaitable, Callable

from mcp.server.auth.provider import AccessToken, TokenVerifier
from starlette.types import ASGIApp, Receive, Scope, Send

from fleet_memory.errors import FleetMemoryError
from fleet_memory.repositories.tokens import Tokens, VersionedKey
from fleet_memory.server.http.addresses import ENDPOINT_PATH
from fleet_memory.server.http.bearer import VerificationUnavailableError
from fleet_memory.server.http.short_cache import ShortCache


class OpenUntilFirstToken(TokenVerifier):
    """Admits every request while no token of the fleet is known, and then those that
    `tokens_verifier` admits.

    A request that needs no token is given a secret of this process in its place, which
    `verify_token` knows.
    """

    def __init__(
        self,
        tokens: Callable[[], Awaitable[Tokens]],
        tokens_verifier: TokenVerifier,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens = tokens
        self._verifier = tokens_verifier
        self._keys = ShortCache[VersionedKey](elapsed)
        self._is_open = True
        self._own = secrets.token_hex()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return an access token without a caller for the secret of this process, and for others
        their caller's.
        """
        if secrets.compare_digest(token.encode(), self._own.encode()):
            return AccessToken(token=token, client_id="", scopes=[])
        return await self._verifier.verify_token(token)

    async def admitted(self, scope: Scope) -> Scope:
        """Return a request as it goes on: with this process's secret while no token is known.

        Billed at most 1 read in 5 s, none once there is a token. Raises
        VerificationUnavailableError.
        """
        if (
            scope["type"] != "http"
            or scope["path"] != ENDPOINT_PATH
            or not await self._needs_none()
        ):
            return scope
        others = [header for header in scope["headers"] if header[0].lower() != b"authorization"]
        return {**scope, "headers": [*others, (b"authorization", f"Bearer {self._own}".encode())]}

    async def _needs_none(self) -> bool:
        if self._is_open:
            try:
                key = await self._keys.get("", (await self._tokens()).read_key)
            except FleetMemoryError as error:
                raise VerificationUnavailableError from error
            self._is_open = key is None or key.key is None
        return self._is_open


class FirstTokenDoor:
    """An ASGI middleware outside the one that authenticates."""

    def __init__(self, app: ASGIApp, verifier: OpenUntilFirstToken) -> None:
        self._app = app
        self._verifier = verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, as `admitted` returns it."""
        await self._app(await self._verifier.admitted(scope), receive, send)
