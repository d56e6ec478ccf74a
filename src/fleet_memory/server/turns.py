"""Each program's share of the engines: how many of its calls may be in the store, or at the
embedder, at once.

The engines serve in order of arrival: a file one verb at a time, MiniLM 16 texts at a time. A
program's calls take a turn of their program before they line up there, so that whoever arrives next
finds only a few of them ahead.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Final
from weakref import WeakValueDictionary

import anyio

from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.similarity import Profile
from fleet_memory.similarity import Embedder

MAX_STORE_VERBS: Final = 4  # of one program at once; chosen: recall reads two documents at a time
MAX_EMBEDDINGS: Final = (
    2  # of one program at once; chosen: the next texts are ready when the engine is
)


class Turns:
    """The turns of one program; its calls share them."""

    def __init__(self) -> None:
        self.store = anyio.Semaphore(MAX_STORE_VERBS, fast_acquire=True)
        self.embedder = anyio.Semaphore(MAX_EMBEDDINGS, fast_acquire=True)


turns_of_call: Final = ContextVar[Turns | None]("turns_of_call", default=None)
"""The turns that the current call takes; None for work of the server's own, and over stdio."""


class TurnsOfPrograms:
    """The turns of every program with a call under way; those of others are forgotten."""

    def __init__(self) -> None:
        self._turns = WeakValueDictionary[str, Turns]()

    def __len__(self) -> int:
        return len(self._turns)

    def of(self, program_id: str) -> Turns:
        """Return the turns of a program; they last as long as the caller keeps them."""
        turns = self._turns.get(program_id)
        if turns is None:
            turns = self._turns[program_id] = Turns()
        return turns


def store_turn() -> anyio.Semaphore | nullcontext[None]:
    """Return a block that waits for a turn at the store; it waits for nothing where the call has no
    turns.
    """
    turns = turns_of_call.get()
    return turns.store if turns else nullcontext()


class TurnTakingEmbedder:
    """An embedder whose texts wait for a turn of their program; everything else is passed on as it
    is.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return self._embedder.name

    @property
    def profile(self) -> Profile:
        """See `Embedder.profile`."""
        return self._embedder.profile

    @property
    def degraded(self) -> str:
        """See `Embedder.degraded`."""
        return self._embedder.degraded

    async def check(self) -> None:
        """See `Embedder.check`."""
        await self._embedder.check()

    async def ready(self) -> None:
        """See `Embedder.ready`."""
        await self._embedder.ready()

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        turns = turns_of_call.get()
        async with turns.embedder if turns else nullcontext():
            return await self._embedder.vectors(texts)
