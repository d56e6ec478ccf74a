"""Who a bearer token admits, and the caller that it makes of a request.

A token of the fleet's own is checked by its record in the store, one of the configured issuer by
the issuer's keys. While the store or the issuer does not answer, the answer is 503: after a 401 a
client throws its token away.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Generic, TypeVar

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from fleet_memory.errors import FleetMemoryError
from fleet_memory.repositories.administration import Tokens, VersionedToken
from fleet_memory.rules.tokens import TOKEN_PREFIX, bearer_refusal, parsed_token
from fleet_memory.schemas.programs import Caller, Role, TokenRecord
from fleet_memory.settings import Settings

UNBOUND_CONNECTION: Final = "http"  # one for all: a restart or a replica makes no new origin
NOTE_WITHIN_S: Final = 2.0  # seconds that a call waits for the note of its token's use; chosen
LOG_EVERY_S: Final = 60.0  # seconds between two lines of one reason and token; chosen
MAX_AGE_S: Final = 5.0  # seconds until a revocation holds on every replica; Source: docs/tokens.md
# tokens in use within these seconds; chosen: twice as many as a fleet of 1,000 agents has
MAX_VALUES: Final = 2_000

_logger = logging.getLogger(__name__)
_T = TypeVar("_T")


class CallerToken(AccessToken):
    """A checked token: its program, role, allowed toolsets (None for all) and end."""

    token_id: str
    program_id: str
    role: Role
    toolsets: tuple[str, ...] | None = None
    ends_at: datetime | None = None


def caller_of_token(process: Caller) -> Caller:
    """Return the caller of the request that this task serves; the process's caller where no token
    is needed.
    """
    token = get_access_token()
    if not isinstance(token, CallerToken):
        return process
    return Caller(token.program_id, token.role, token.token_id, token.toolsets)


@dataclass
class _Slot(Generic[_T]):
    value: _T | None = None
    read_at: float | None = None  # when its reading began: a change since then may be missing
    failures: int = 0
    error: FleetMemoryError | None = None  # the last failure's
    reading: anyio.Lock = field(default_factory=anyio.Lock)


class ShortCache(Generic[_T]):
    """At most `MAX_VALUES` values by name, each at most `MAX_AGE_S` seconds old; the longest unused
    goes first.

    `elapsed` counts seconds and never goes back: no wrong or changed wall clock keeps a value
    alive.
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._slots: dict[str, _Slot[_T | None]] = {}

    async def get(self, name: str, read: Callable[[], Awaitable[_T | None]]) -> _T | None:
        """Return the cached value of a name, or `read` it.

        An error of `read` reaches every waiting caller. None, for an unknown name, is cached too.
        """
        slot = self._slots.pop(name, None) or _Slot()
        self._slots[name] = slot
        if len(self._slots) > MAX_VALUES:
            del self._slots[next(iter(self._slots))]
        failures = slot.failures
        async with slot.reading:
            if (
                slot.error is not None and slot.failures > failures
            ):  # while this call waited for another's reading
                raise slot.error.with_traceback(None)
            now = self._elapsed()
            if slot.read_at is None or now - slot.read_at >= MAX_AGE_S:
                try:
                    slot.value = await read()
                except FleetMemoryError as error:
                    slot.failures, slot.error = slot.failures + 1, error
                    raise
                slot.read_at = now
            return slot.value


class RefusalLog:
    """Writes a line for each reason and token, at most one in `LOG_EVERY_S`; metrics count every
    answer.

    `elapsed` counts seconds and never goes back.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._last: dict[tuple[str, str], float] = {}

    def note(self, reason: str, token_id: str = "") -> None:
        """Log a refusal; `token_id` is of a token that this fleet made, so those are few."""
        if self._is_due(reason, token_id):
            _logger.warning("a bearer is refused: %s%s", reason, token_id and f", token {token_id}")

    def note_unavailable(self, error: FleetMemoryError) -> None:
        """Log why tokens cannot be checked; during an outage every call fails for one reason."""
        if self._is_due(error.code, ""):
            _logger.warning(
                "tokens cannot be checked: %s", f"{error} {error.operator_detail}".rstrip()
            )

    def _is_due(self, reason: str, token_id: str) -> bool:
        now, key = self._elapsed(), (reason, token_id)
        if now - self._last.get(key, -LOG_EVERY_S) < LOG_EVERY_S:
            return False
        self._last[key] = now
        return True


class VerificationUnavailableError(Exception):
    """A token cannot be checked at present. `UnavailableAnswer` turns it into a 503."""


class FleetTokens(TokenVerifier):
    """Verifies the fleet's own tokens, by records of the store that are at most 5 s old.

    A text that is not spelt like a token costs no read. `now` is the fleet's clock, for expiry;
    `elapsed` counts the seconds of the cache and never goes back.
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
        self._records = ShortCache[VersionedToken](elapsed)
        self._refusals = RefusalLog(elapsed)
        self._noted: dict[str, date] = {}  # by the ids of tokens that admitted somebody

    async def verify_token(self, token: str) -> CallerToken | None:
        """Return the caller of a live token, None for any other text.

        Billed 1 read of its record in 5 s, and 1 write a day. Raises the store's errors.
        """
        parts = parsed_token(token)
        if parts is None:
            self._refusals.note("malformed")
            return None
        tokens = await self._tokens()
        versioned = await self._records.get(parts.token_id, lambda: tokens.read(parts.token_id))
        now = self._now()
        if versioned is None:
            self._refusals.note("unknown, erased or unreadable")
            return None
        if reason := bearer_refusal(versioned.value, parts.secret, now):
            self._refusals.note(reason, parts.token_id)
            return None
        await self._note_use(tokens, versioned, now.date())
        return self._caller(versioned.value, token)

    async def _note_use(self, tokens: Tokens, versioned: VersionedToken, today: date) -> None:
        """Note the day of the last use, once a day; a failure of the store fails no call."""
        record = versioned.value
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
            ends_at=record.expires_at,
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
        """Return a token's caller, None if it is refused. Raises VerificationUnavailableError."""
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


def auth_settings(settings: Settings, endpoint: str) -> AuthSettings:
    """Return how mcp guards the endpoint: with an issuer, clients find it by the metadata of the
    resource (RFC 9728).

    Without one no resource is named: clients would look for an issuer that does not exist.
    """
    if settings.issuer is None:
        return AuthSettings(
            issuer_url=AnyHttpUrl(endpoint), resource_server_url=None
        )  # mandatory, and unused
    # from texts: a URL object has a slash at its end, and `iss` need not
    return AuthSettings.model_validate(
        {
            "issuer_url": settings.issuer,
            "resource_server_url": endpoint,
            "validate_token_resource": True,
        }
    )


class UnavailableAnswer:
    """ASGI middleware outside authentication: answers 503 to a token that cannot be checked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; the answer is 503 if its token cannot be checked."""
        try:
            await self._app(scope, receive, send)
        except VerificationUnavailableError:
            words = (
                "Tokens cannot be checked at the moment. Keep yours, and send the same request "
                "again."
            )
            content = {"error": "temporarily_unavailable", "error_description": words}
            wait = {"Retry-After": str(round(MAX_AGE_S))}
            await JSONResponse(content, 503, wait)(scope, receive, send)
