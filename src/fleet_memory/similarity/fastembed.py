"""Any text model of fastembed: it runs on this machine, from files that it downloads at its first text.

Where the files cannot be downloaded, fastembed tries for about 40 seconds before it says so.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from anyio import CapacityLimiter, to_thread

from fleet_memory.errors import EmbedderError
from fleet_memory.schemas.similarity import CAUTIOUS
from fleet_memory.similarity import Vectors

if TYPE_CHECKING:
    from fastembed import TextEmbedding


class FastEmbed:
    """See `Embedder`. `model` is a name that fastembed lists, for example "BAAI/bge-small-en-v1.5"."""

    profile = CAUTIOUS
    degraded = ""

    def __init__(self, model: str) -> None:
        self.name = f"fastembed/{model}"
        self._model = model
        self._turn = CapacityLimiter(1)
        self._engine: TextEmbedding | None = None

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        return await to_thread.run_sync(self._embedded, list(texts), limiter=self._turn)

    def _embedded(self, texts: list[str]) -> Vectors:
        if self._engine is None:
            self._engine = _loaded(self._model)
        # One text per run: some models are quantised, and in a batch a text's vector depends on its neighbours.
        rows = np.array(list(self._engine.embed(texts, batch_size=1)), np.float32).reshape(len(texts), -1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, np.where(lengths == 0, 1, lengths), dtype=np.float32)


def _loaded(model: str) -> "TextEmbedding":
    try:
        from fastembed import TextEmbedding  # noqa: PLC0415 an extra that few installations have
    except ImportError as missing:
        advice = "fastembed is not installed; run: pip install 'fleet-memory[fastembed]'"
        raise EmbedderError(advice, operator_detail=advice) from missing
    try:
        return TextEmbedding(model_name=model, threads=1)  # twenty servers share one machine
    except (ValueError, OSError) as failure:  # an unknown model, no download, a damaged file
        raise EmbedderError(
            f"fastembed could not load {model}: check its name, and that this machine could download it once.",
            operator_detail=str(failure),
        ) from failure
