"""Vectors from an endpoint that speaks OpenAI's embeddings interface: OpenAI, or a server of your
own.

Lessons leave the machine. The text of a refusal is never repeated: it may contain the key.
"""

import time
from collections.abc import Sequence
from typing import Final

import httpx2
import numpy as np
from pydantic import BaseModel

from fleet_memory.errors import EmbedderError, EmbedderUnavailableError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.similarity import CAUTIOUS
from fleet_memory.similarity.endpoint import (
    Endpoint,
    EndpointAnswer,
    EndpointOutage,
    EndpointRefusal,
    Patience,
)

TEXTS_PER_REQUEST: Final = (
    64  # texts in one request; 1,000 characters each stay far below any endpoint's limit
)
MAX_EMBEDDINGS_BYTES: Final = (
    64 << 20
)  # bytes of an answer; 64 vectors of 4,096 numbers take a tenth. Chosen

_ADVICE: Final = {
    401: "Set FLEET_MEMORY_EMBEDDER_KEY to a valid key.",
    403: "Set FLEET_MEMORY_EMBEDDER_KEY to a key that may use the model.",
    404: "Check the model's name and FLEET_MEMORY_EMBEDDER_URL.",
}


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

    async def release(self, idle_s: float) -> float:
        """See `Embedder.release`. There is nothing to free."""
        return idle_s

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`. Raises EmbedderUnavailableError when the endpoint may answer
        later.
        """
        if not texts:
            return np.empty((0, self._size or 0), np.float32)
        if self.degraded and time.monotonic() < self._rests_until:
            raise EmbedderUnavailableError(self.degraded)
        batches = [
            texts[start : start + TEXTS_PER_REQUEST]
            for start in range(0, len(texts), TEXTS_PER_REQUEST)
        ]
        try:
            async with self._endpoint.client() as client:
                rows = np.concatenate([await self._rows(client, batch) for batch in batches])
        except EmbedderError as failure:
            self.degraded = str(failure)
            self._rests_until = time.monotonic() + self._patience.rest_s
            raise
        self.degraded = ""
        return rows

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
