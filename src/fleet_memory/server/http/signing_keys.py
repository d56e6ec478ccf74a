"""The public keys of an issuer: found by its metadata, cached, and fetched again when it rotates
them.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

import anyio
import httpx2
from anyio import to_thread

from fleet_memory.errors import IssuerUnavailableError
from fleet_memory.settings.issuer import IssuerSettings, keys_address

# seconds until keys are fetched again: a key that the issuer withdrew is taken so long. Chosen
FRESH_S: Final = 600.0
USABLE_S: Final = 86_400.0  # seconds that keys are used while the issuer does not answer; chosen
MIN_PAUSE_S: Final = (
    10.0  # seconds from the end of an attempt to the next, whatever keys tokens name; chosen
)
FETCH_WITHIN_S: Final = 10.0  # seconds for one attempt, all its requests together; chosen
MAX_ANSWER_BYTES: Final = 1_000_000  # of metadata or keys; chosen: Google's keys take 2,000

JsonKey: TypeAlias = Mapping[str, object]
"""A public key as JSON, RFC 7517."""

_KINDS: Final = ("RSA", "EC", "OKP")  # asymmetric; a secret among public keys is none
_FAILURES: Final = (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, RecursionError)

_logger = logging.getLogger(__name__)


class _Fetched(NamedTuple):
    keys: Sequence[JsonKey]
    at: float

    def of_id(self, kid: str | None) -> list[JsonKey]:
        return [key for key in self.keys if kid is None or key.get("kid") == kid]


class SigningKeys:
    """The keys of one issuer. `elapsed` counts seconds and never goes back.

    Fetching blocks no event loop, and at most one call waits for it as long as the known keys can
    be used.
    """

    def __init__(
        self, issuer: IssuerSettings, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._elapsed = elapsed
        self._fetching = anyio.Lock()
        self._fetched: _Fetched | None = None
        self._attempted_at: float | None = None
        self._is_failing = False

    async def having(self, kid: str | None) -> list[JsonKey]:
        """Return the keys of this id, all for None; empty for an id that the issuer does not have.

        An unknown id has the keys fetched again, at most once in 10 s. Raises
        IssuerUnavailableError when they cannot be fetched, and those that are known are too old or
        lack the id.
        """
        fetched = self._fetched
        if fetched is None or (
            self._elapsed() - fetched.at >= FRESH_S and not self._fetching.locked()
        ):
            fetched = await self._refreshed()
        keys = fetched.of_id(kid) or (await self._refreshed()).of_id(kid)
        if not keys and self._is_failing:
            raise IssuerUnavailableError(
                "The issuer of this token does not answer, and may have a new key."
            )
        return keys

    async def _refreshed(self) -> _Fetched:
        """Return the keys after an attempt to fetch them, unless there was one just now."""
        async with self._fetching:
            now = self._elapsed()
            if self._attempted_at is None or now - self._attempted_at >= MIN_PAUSE_S:
                try:
                    with anyio.CancelScope(
                        shield=True
                    ):  # a caller that leaves must not waste the attempt
                        await self._attempt(now)
                # its end: callers who waited for a silent issuer must not ask it one after the
                # other
                finally:
                    self._attempted_at = self._elapsed()
            if self._fetched is None or now - self._fetched.at >= USABLE_S:
                raise IssuerUnavailableError(
                    "The issuer of this token does not answer, so that its keys are unknown."
                )
            return self._fetched

    async def _attempt(self, now: float) -> None:
        try:
            with anyio.fail_after(FETCH_WITHIN_S):
                keys = await self._fetch()
        except _FAILURES as problem:
            self._is_failing = True
            _logger.warning(
                "the keys of the issuer %s cannot be fetched: %r", self._issuer.url, problem
            )
        else:
            self._fetched, self._is_failing = _Fetched(keys, now), False

    async def _fetch(self) -> list[JsonKey]:
        """Return the asymmetric keys for signatures. Raises one of `_FAILURES`."""
        client = await to_thread.run_sync(_client)  # it reads the machine's certificates
        async with client:
            keys = (
                await _document(client, self._issuer.jwks_url or await self._found(client))
            ).get("keys")
        if not isinstance(keys, list):
            raise ValueError("the document has no keys")  # noqa: TRY004 the issuer's mistake, no caller's
        known = [cast("JsonKey", key) for key in keys if isinstance(key, dict)]
        return [key for key in known if key.get("kty") in _KINDS and key.get("use", "sig") == "sig"]

    async def _found(self, client: httpx2.AsyncClient) -> str:
        """Return the address of the keys by the issuer's metadata, which must be this issuer's
        own.
        """
        problems: list[str] = []
        for url in _metadata_urls(self._issuer.url):
            try:
                metadata = await _document(client, url)
            except ValueError as problem:
                problems.append(str(problem))
                continue
            if metadata.get("issuer") != self._issuer.url:
                raise ValueError(
                    f"{url} is the metadata of another issuer, "
                    f"{str(metadata.get('issuer'))[:100]!r}"
                )
            return keys_address(str(metadata.get("jwks_uri")), self._issuer.url)
        raise ValueError("; ".join(problems))


def _metadata_urls(issuer: str) -> Iterator[str]:
    """Yield where an issuer's metadata may be: OpenID Connect Discovery 1.0, section 4; RFC 8414,
    section 3.
    """
    yield f"{issuer.removesuffix('/')}/.well-known/openid-configuration"
    parts = urlsplit(issuer)
    yield f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{parts.path.removesuffix('/')}"


def _client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=FETCH_WITHIN_S, headers={"Accept-Encoding": "identity"})


async def _document(client: httpx2.AsyncClient, url: str) -> Mapping[str, object]:
    """Return a JSON object; no redirect is followed. Raises ValueError for another answer."""
    async with client.stream("GET", url) as answer:
        if not answer.is_success:
            raise ValueError(f"{url} answers {answer.status_code}")
        content = bytearray()
        async for chunk in answer.aiter_bytes():
            content += chunk
            if len(content) > MAX_ANSWER_BYTES:
                raise ValueError(f"{url} answers more than {MAX_ANSWER_BYTES} bytes")
    document = json.loads(content)
    if not isinstance(document, dict):
        raise ValueError(f"{url} answers no JSON object")  # noqa: TRY004 the issuer's mistake, no caller's
    return document
