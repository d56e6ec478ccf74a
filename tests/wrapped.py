"""A store around another: the base of stores that count, watch or interfere."""

from datetime import datetime

from fleet_memory.stores import Document, Query, Ref, Store, StoreHealth, Write


class ForwardingStore(Store):
    """A store that passes every call on as it is; a subclass overrides the verbs that it
    changes.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

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
        return await self._store.commit(*writes)

    async def scrub(self) -> bool:
        """See `Store.scrub`."""
        return await self._store.scrub()

    async def check(self) -> StoreHealth:
        """See `Store.check`."""
        return await self._store.check()

    async def close(self) -> None:
        """See `Store.close`."""
        await self._store.close()


class Counted(ForwardingStore):
    """A store that counts the documents it reads and writes."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.reads = self.writes = 0

    async def get(self, *refs: Ref) -> list[Document | None]:
        self.reads += len(refs)
        return await super().get(*refs)

    async def commit(self, *writes: Write) -> datetime:
        self.writes += len(writes)
        return await super().commit(*writes)
