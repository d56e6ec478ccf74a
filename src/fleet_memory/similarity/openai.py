"""An HTTP endpoint that speaks OpenAI's interface, OpenAI's or a server of your own, and vectors
from it.

Lessons leave the machine. The text of a refusal is never repeated: it may contain the key.
"""

import random
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import anyio
import httpx2
import numpy as np
from pydantic import BaseModel

from fleet_memory.errors import EmbedderError, EmbedderUnavailableError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import CAUTIOUS

# texts in one request; 1,000 characters each stay far below any endpoint's limit
TEXTS_PER_REQUEST: Final = 64
MAX_EMBEDDINGS_BYTES: Final = (
    64 << 20
)  # bytes of an answer; 64 vectors of 4,096 numbers take a tenth. Chosen

_ADVICE: Final = {
    401: "Set FLEET_MEMORY_EMBEDDER_KEY to a valid key.",
    403: "Set FLEET_MEMORY_EMBEDDER_KEY to a key that may use the model.",
    404: "Check the model's name and FLEET_MEMORY_EMBEDDER_URL.",
}
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
    # the longest before the second attempt; twice as long before each further one
    pause_s: float = 0.25
    # of an embedder: after a failure calls fail at once for so long, one is slow and not all
    rest_s: float = 30.0


class EndpointAnswer(NamedTuple):
    """The body of a success, cut at the limit (and then invalid JSON)."""

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
        """Return a client to close after a few questions; loading its certificates takes most of
        its time.
        """
        if self._trusted is None:
            self._trusted = httpx2.create_ssl_context()
        return httpx2.AsyncClient(headers=self._headers, timeout=None, verify=self._trusted)

    async def ask(
        self, client: httpx2.AsyncClient, question: Mapping[str, object]
    ) -> EndpointReply:
        """Send a question as JSON and return the reply; an outage only after the last attempt."""
        reply: EndpointReply = EndpointOutage("not asked", lasts=False)
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
                break
        return reply

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


class Embedding(BaseModel):
    """One vector of an answer; `index` is the position of its text in the question."""

    index: int
    embedding: Sequence[float]


class Embeddings(BaseModel):
    """The answer of an endpoint. Source: OpenAI's API reference, "Create embeddings"."""

    data: Sequence[Embedding]


class OpenAI:
    """See `Embedder`. While an endpoint fails, `degraded` is set and calls raise; no other engine
    stands in.
    """

    profile = CAUTIOUS

    def __init__(
        self,
        model: str,
        url: str,
        key: str = "",
        patience: Patience = Patience(),  # noqa: B008 frozen
    ) -> None:
        self.name = f"openai/{model}"
        self.degraded = ""
        self._model = model
        self._endpoint = Endpoint(
            f"{url.rstrip('/')}/embeddings", key, patience, MAX_EMBEDDINGS_BYTES
        )
        self._patience = patience
        self._rests_until = 0.0
        self._size: int | None = None

    async def check(self) -> None:
        """See `Embedder.check`. `degraded` has what the last text met."""

    async def ready(self) -> None:
        """See `Embedder.ready`. An endpoint keeps its name whether it answers or not."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`. Raises EmbedderUnavailableError when the endpoint may answer
        later.
        """
        if not texts:
            return np.empty((0, self._size or 0), np.float32)
        if self.degraded and time.monotonic() < self._rests_until:
            raise EmbedderUnavailableError(self.degraded)
        rows: list[Vectors] = []
        try:
            async with self._endpoint.client() as client:
                for start in range(0, len(texts), TEXTS_PER_REQUEST):
                    some = texts[start : start + TEXTS_PER_REQUEST]
                    rows.append(await self._rows(client, some))
        except EmbedderError as failure:
            self.degraded = str(failure)
            self._rests_until = time.monotonic() + self._patience.rest_s
            raise
        self.degraded = ""
        return np.concatenate(rows)

    async def _rows(self, client: httpx2.AsyncClient, texts: Sequence[str]) -> Vectors:
        match await self._endpoint.ask(client, {"model": self._model, "input": list(texts)}):
            case EndpointAnswer(content):
                return self._checked(content, len(texts))
            case EndpointRefusal(status):
                advice = _ADVICE.get(
                    status, "Check FLEET_MEMORY_EMBEDDER and FLEET_MEMORY_EMBEDDER_URL."
                )
                raise EmbedderError(f"The embedding endpoint refused (status {status}). {advice}")
            case EndpointOutage(problem):
                raise EmbedderUnavailableError(
                    f"The embedding endpoint does not answer ({problem}); try again later."
                )

    def _checked(self, content: bytes, count: int) -> Vectors:
        """Return the rows of an answer, of length 1, in the order of the texts. Raises
        EmbedderError.
        """
        try:
            data = sorted(
                Embeddings.model_validate_json(content).data, key=lambda embedding: embedding.index
            )
        except ValueError:
            raise EmbedderError(
                "The embedding endpoint answered something other than embeddings."
            ) from None
        sizes = {len(embedding.embedding) for embedding in data}
        if [embedding.index for embedding in data] != list(range(count)) or len(sizes) != 1:
            raise EmbedderError(
                "The embedding endpoint did not answer with one vector for each text."
            )
        size = self._size or sizes.pop()
        if sizes - {size}:
            raise EmbedderError(
                f"The embedding endpoint's vectors no longer have {size} numbers: is it "
                "another model?"
            )
        rows = np.array([embedding.embedding for embedding in data], np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbedderError("The embedding endpoint answered a vector without a direction.")
        self._size = size
        unit: Vectors = rows / lengths
        return unit
