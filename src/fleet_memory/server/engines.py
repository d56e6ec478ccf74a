"""The engines as a server uses them: counted call by call, and shared fairly among programs.

Engines serve in order of arrival: a file one verb at a time, MiniLM 16 texts at a time. Each
program queues its own calls first, so that the next program finds only a few of them ahead.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime
from typing import Final

import anyio

from fleet_memory.clock import StoreClock
from fleet_memory.errors import ConflictError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import Profile
from fleet_memory.similarity import Embedder
from fleet_memory.stores import Document, Query, Ref, Store, StoreHealth, Write

MAX_STORE_VERBS: Final = 4  # of one program at once; chosen: recall reads two documents at a time
MAX_EMBEDDINGS: Final = (
    2  # of one program at once; chosen: the next texts are ready when the engine is
)
MATCHES_PER_READ: Final = 1_000  # of a count. Source: `Store.total`
_LEDGER: Final = "/ledger"  # how the path of the ledger ends; see repositories/paths.py


class Turns:
    """The turns of one program, shared by its calls and kept while one of them runs."""

    def __init__(self) -> None:
        self.store = anyio.Semaphore(MAX_STORE_VERBS, fast_acquire=True)
        self.embedder = anyio.Semaphore(MAX_EMBEDDINGS, fast_acquire=True)


turns_of_call: Final = ContextVar[Turns | None]("turns_of_call", default=None)
"""The turns that the current call takes; None for work of the server's own, and over stdio."""


def store_turn() -> anyio.Semaphore | nullcontext[None]:
    """Return a context that waits for a turn at the store, if the call takes turns."""
    turns = turns_of_call.get()
    return turns.store if turns else nullcontext()


class StoreUse:
    """The operations of one call, or of a server since its start: billed reads and writes, lost
    commits.

    `ledger` counts the lines that were written to the ledger, by event, e.g. {"promoted": 2}.
    """

    def __init__(self) -> None:
        self.reads = 0
        self.writes = 0
        self.conflicts = 0
        self.ledger: Counter[str] = Counter()


_use_of_call: Final = ContextVar[StoreUse | None]("use_of_call", default=None)


@contextmanager
def counted_call() -> Iterator[StoreUse]:
    """Count the operations of the block, and of the tasks that it starts."""
    use = StoreUse()
    token = _use_of_call.set(use)
    try:
        yield use
    finally:
        _use_of_call.reset(token)


class ServedStore(Store):
    """A store that adds each operation to `whole` and to its call, and tells a clock the time of
    each commit; a sum of a field counts as 1 read.
    """

    def __init__(self, store: Store, whole: StoreUse, clock: StoreClock | None = None) -> None:
        self._store = store
        self._whole = whole
        self._clock = clock

    async def get(self, *refs: Ref) -> list[Document | None]:
        """See `Store.get`."""
        async with store_turn():
            documents = await self._store.get(*refs)
        self._count_reads(len(refs))
        return documents

    async def find(self, query: Query) -> list[Document]:
        """See `Store.find`."""
        async with store_turn():
            documents = await self._store.find(query)
        self._count_reads(max(1, len(documents)))
        return documents

    async def total(self, query: Query, field: str | None = None) -> int:
        """See `Store.total`."""
        async with store_turn():
            total = await self._store.total(query, field)
        self._count_reads(1 if field else max(1, -(-total // MATCHES_PER_READ)))
        return total

    async def commit(self, *writes: Write) -> datetime:
        """See `Store.commit`."""
        asked_at = self._clock.uncorrected() if self._clock else None
        try:
            async with store_turn():
                at = await self._store.commit(*writes)
        except ConflictError:
            for use in self._uses():
                use.conflicts += 1
            raise
        events = [
            write.fields.get("event")
            for write in writes
            if write.fields and write.ref.collection.endswith(_LEDGER)
        ]
        for use in self._uses():
            use.writes += len(writes)
            use.ledger.update(event for event in events if isinstance(event, str))
        if self._clock and asked_at and writes:  # without any, it is this machine's own time
            self._clock.observe(at, asked_at)
        return at

    async def scrub(self) -> bool:
        """See `Store.scrub`."""
        return await self._store.scrub()

    async def check(self) -> StoreHealth:
        """See `Store.check`."""
        return await self._store.check()

    async def close(self) -> None:
        """See `Store.close`."""
        await self._store.close()

    def _count_reads(self, count: int) -> None:
        for use in self._uses():
            use.reads += count

    def _uses(self) -> tuple[StoreUse, ...]:
        call = _use_of_call.get()
        return (self._whole, call) if call else (self._whole,)


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
