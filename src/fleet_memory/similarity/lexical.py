"""Compares lessons by their letters, without a model, also where the model cannot load.

It sees other spellings, inflections and shared terms, but no rewording in other words.
"""

import logging
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from anyio import Lock
from anyio.lowlevel import checkpoint
from numpy.typing import NDArray

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import NEVER, Profile
from fleet_memory.similarity import NO_BUILD, Embedder

logger = logging.getLogger(__name__)

DIMENSIONS = 384  # numbers in a vector
_TEXTS_PER_TURN = 32  # texts between two turns of the event loop, about 3 ms

# Words so frequent that sharing them means little weigh a fifth. Measured on the lint set: MRR .56
# -> .59.
LIGHT = frozenset(
    re.findall(r"\w+", "a an and as at be by for from in is it its of on or that the this to with")
)

# Measured on the development set lint (220 rules that two projects share, among 970): related .30:
# 78% of the true pairs and 1.7% of all others (MiniLM at its .40: 87% and 2.4%); review .15 with
# floor .20: about 2 candidates to read per true match; they find two in three of the matches of
# small domains (60 by 60), every other one of a dense domain (220 by 790).
PROFILE = Profile(related=0.30, alike=NEVER, review=0.15, floor=0.20, context_share=0.0)


class Lexical:
    """See `Embedder`. Signed counts of hashed 3- to 5-letter pieces of words; the same in every
    process.
    """

    name = "lexical/1"
    profile = PROFILE

    def __init__(self, degraded: str = "") -> None:
        self.degraded = degraded

    async def check(self) -> None:
        """See `Embedder.check`. It always answers."""

    async def ready(self) -> None:
        """See `Embedder.ready`. There is nothing to load."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        rows = np.empty((len(texts), DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            if row % _TEXTS_PER_TURN == 0:
                await checkpoint()
            rows[row] = _vector(text)
        return rows


def _vector(text: str) -> Vectors:
    words = re.findall(r"\w+|[^\w\s]+", unicodedata.normalize("NFKC", text).casefold())
    counts: Vectors = np.zeros(DIMENSIONS, np.float32)
    for word, times in Counter(words).items():
        places, signs = _pieces(word)
        np.add.at(counts, places, signs * ((0.2 if word in LIGHT else 1.0) * times))
    if not counts.any():  # no word, or pieces that cancel out: some direction, always the same
        counts[0] = 1
    return np.divide(counts, np.linalg.norm(counts), dtype=np.float32)


@lru_cache(maxsize=8192)
def _pieces(word: str) -> tuple[NDArray[np.intp], Vectors]:
    edged = f" {word} "
    hashes = [
        zlib.crc32(edged[at : at + n].encode())
        for n in (3, 4, 5)
        for at in range(len(edged) - n + 1)
    ]
    # the hash's last bits place a piece and its first bit signs it, so that collisions cancel out
    # on average
    return np.array([h % DIMENSIONS for h in hashes]), np.array(
        [1.0 if h >> 31 else -1.0 for h in hashes], np.float32
    )


@cache
def warn_once(text: str) -> None:
    """Log a warning, once in a process: a command may open its embedder several times."""
    logger.warning("%s", text)


class Fallback:
    """See `Embedder`. The primary engine if it loads at the first need, else `Lexical` for the rest
    of the process.

    It is `Lexical` at once if the engine fails its check. `name`, `profile` and `degraded` are
    final once `ready` or `vectors` has returned. An engine that loaded and fails later raises; no
    vectors are mixed.
    """

    def __init__(self, primary: Embedder) -> None:
        self._engine = primary
        self._settled = False
        self._first = Lock()

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return self._engine.name

    @property
    def profile(self) -> Profile:
        """See `Embedder.profile`."""
        return self._engine.profile

    @property
    def degraded(self) -> str:
        """See `Embedder.degraded`."""
        return self._engine.degraded

    async def check(self) -> None:
        """See `Embedder.check`. An engine that passes is not settled yet."""
        await self._settle(self._engine.check, is_final=False)

    async def ready(self) -> None:
        """See `Embedder.ready`."""
        await self._settle(self._engine.ready, is_final=True)

    async def _settle(self, trial: Callable[[], Awaitable[None]], *, is_final: bool) -> None:
        async with self._first:  # two first calls must not settle on two engines
            if not self._settled:
                try:
                    await trial()
                    self._settled = is_final
                except EmbedderError as failure:
                    self._fall_back(failure)

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        if not self._settled:
            await self.ready()
        return await self._engine.vectors(texts)

    def _fall_back(self, failure: EmbedderError) -> None:
        self._settled = True
        if str(failure) == NO_BUILD:
            warn_once(NO_BUILD)
            self._engine = Lexical(NO_BUILD)
        else:
            engine, why = self._engine.name, failure.operator_detail
            warn_once(f"{engine} did not load; comparing letters instead: {why}. {failure}")
            self._engine = Lexical(
                f"The embedder {engine} could not be loaded, so lessons are compared by their "
                f"letters and only those of equal text merge. {failure}"
            )


def open_lexical(_model: str, _url: str, _key: str) -> Lexical:
    """Return the engine of the embedder `lexical`."""
    return Lexical()
