"""Falls back to `lexical` if the configured engine cannot load."""

import logging
from collections.abc import Sequence
from functools import cache

from anyio import Lock

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.similarity import Profile
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.builds import NO_BUILD
from fleet_memory.similarity.lexical import Lexical

logger = logging.getLogger(__name__)


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
        async with self._first:
            if not self._settled:
                try:
                    await self._engine.check()
                except EmbedderError as failure:
                    self._fall_back(failure)

    async def ready(self) -> None:
        """See `Embedder.ready`."""
        async with self._first:  # two first calls must not settle on two engines
            if not self._settled:
                try:
                    await self._engine.ready()
                except EmbedderError as failure:
                    self._fall_back(failure)
                self._settled = True

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        if not self._settled:
            await self.ready()
        return await self._engine.vectors(texts)

    async def release(self, idle_s: float) -> float:
        """See `Embedder.release`."""
        return await self._engine.release(idle_s)

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
                "letters "
                f"and only those of equal text merge. {failure}"
            )
