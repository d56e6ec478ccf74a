"""One question to an HTTP endpoint that speaks OpenAI's interface, sent again while that may help.

The caller's texts leave the machine. The text of a refusal is never repeated: it may contain the
key.
"""

import random
import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import anyio
import httpx2

_OF_THE_QUESTION: Final = (
    400,
    413,
    422,
    500,
)  # statuses about this question: another one may be answered


class Patience(NamedTuple):
    """How long to wait for an endpoint, in seconds; 16 at most with these figures, to delay no
    agent.
    """

    timeout_s: float = 5.0  # for each attempt, from the first byte sent to the last received
    attempts: int = 3
    pause_s: float = (
        0.25  # the longest before the second attempt; twice as long before each further one
    )
    # of an embedder: after a failure calls fail at once for so long, one is slow and not all
    rest_s: float = 30.0


class EndpointAnswer(NamedTuple):
    """The body of a success. One longer than the limit is cut there, and then it is no JSON."""

    content: bytes


class EndpointRefusal(NamedTuple):
    """The endpoint understood and refuses: the same question is refused again."""

    status: int

    @property
    def lasts(self) -> bool:
        """Whether it refuses every question, e.g. for a wrong key."""
        return self.status not in _OF_THE_QUESTION


class EndpointOutage(NamedTuple):
    """No attempt was answered; `problem` is the last one's, e.g. "ConnectError" or "status 503"."""

    problem: str
    lasts: bool
    """Whether every question meets it at present: no server listens, or it takes no more."""


EndpointReply: TypeAlias = EndpointAnswer | EndpointRefusal | EndpointOutage


class Endpoint:
    """One address below which questions are asked. `max_bytes` limits an answer."""

    def __init__(self, url: str, key: str, patience: Patience, max_bytes: int) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._patience = patience
        self._max_bytes = max_bytes
        self._trusted: ssl.SSLContext | None = None

    def client(self) -> httpx2.AsyncClient:
        """Return a client for a few questions, to be closed after them: only its certificates take
        long to load.
        """
        if self._trusted is None:
            self._trusted = httpx2.create_ssl_context()
        return httpx2.AsyncClient(headers=self._headers, timeout=None, verify=self._trusted)

    async def ask(
        self, client: httpx2.AsyncClient, question: Mapping[str, object]
    ) -> EndpointReply:
        """Send a question as JSON and return the reply; an outage only after the last attempt."""
        outage = EndpointOutage("not asked", lasts=False)
        for attempt in range(self._patience.attempts):
            if attempt:
                await anyio.sleep(random.uniform(0, self._patience.pause_s * 2 ** (attempt - 1)))  # noqa: S311 jitter
            try:
                with anyio.fail_after(self._patience.timeout_s):
                    reply = await self._reply(client, question)
            except (httpx2.RequestError, TimeoutError) as failure:
                reply = EndpointOutage(
                    type(failure).__name__, lasts=isinstance(failure, httpx2.ConnectError)
                )
            if not isinstance(reply, EndpointOutage):
                return reply
            outage = reply
        return outage

    async def _reply(
        self, client: httpx2.AsyncClient, question: Mapping[str, object]
    ) -> EndpointReply:
        async with client.stream("POST", self._url, json=question) as answer:
            status = answer.status_code
            if answer.is_server_error or status == httpx2.codes.TOO_MANY_REQUESTS:
                return EndpointOutage(f"status {status}", lasts=status not in _OF_THE_QUESTION)
            if not answer.is_success:
                return EndpointRefusal(status)
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > self._max_bytes:
                    break
            return EndpointAnswer(bytes(content[: self._max_bytes]))
