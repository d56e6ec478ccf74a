"""Lets a server's clock follow the store's: each commit returns the store's time."""

from datetime import datetime

from fleet_memory.clock import StoreClock
from fleet_memory.stores import Document, Query, Ref, Store, StoreHealth, Write


class ObservedStore(Store):
    """A store that sets a clock at each commit; every call is passed on as it is."""

    def __init__(self, store: Store, clock: StoreClock) -> None:
        self._store = store
        self._clock = clock

    async def get(self, *refs: Ref) -> list[Document | None]:
        """See `Store.get`."""
        return await self._store.get(*refs)

    async def find(self, query: Query) -> list[Document]:
        """See `Store.find`."""
        return await self._store.find(query)

    async def total(self, query: Query, field: str | None = None) -> int:
        """See `Store.total`."""
        return await self._store.total(query, field)

    async def commit(self, *writes: Write) -> datetime:
        """See `Store.commit`."""
        asked_at = self._clock.uncorrected()
        store_time = await self._store.commit(*writes)
        if writes:  # without any, the answer is this machine's own time
            self._clock.observe(store_time, asked_at)
        return store_time

    async def scrub(self) -> bool:
        """See `Store.scrub`."""
        return await self._store.scrub()

    async def check(self) -> StoreHealth:
        """See `Store.check`."""
        return await self._store.check()

    async def close(self) -> None:
        """See `Store.close`."""
        await self._store.close()
