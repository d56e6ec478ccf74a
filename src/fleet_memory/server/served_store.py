"""Counts the operations of a server's store, call by call, and takes turns for them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Final

from fleet_memory.errors import ConflictError
from fleet_memory.server.forwarding_store import ForwardingStore
from fleet_memory.server.turns import store_turn
from fleet_memory.stores import Document, Query, Ref, Store, Write

MATCHES_PER_READ: Final = 1_000  # of a count. Source: `Store.total`
_LEDGER: Final = "/ledger"  # how the path of the ledger ends; see repositories/paths.py


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


class ServedStore(ForwardingStore):
    """A store that adds each operation to `whole` and to its call; a sum of a field counts as 1
    read.
    """

    def __init__(self, store: Store, whole: StoreUse) -> None:
        super().__init__(store)
        self._whole = whole

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
        return at

    def _count_reads(self, count: int) -> None:
        for use in self._uses():
            use.reads += count

    def _uses(self) -> tuple[StoreUse, ...]:
        call = _use_of_call.get()
        return (self._whole, call) if call else (self._whole,)
