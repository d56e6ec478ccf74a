"""A store around another: the base of stores that count, watch or interfere."""

from datetime import datetime

from fleet_memory.stores import Document, Query, Ref, Store, StoreHealth, Write


class Wrapped(Store):
    """A store that passes every call on; a subclass overrides the verbs it wants to see or change."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, *refs: Ref) -> list[Document | None]:
        return await self._store.get(*refs)

    async def find(self, query: Query) -> list[Document]:
        return await self._store.find(query)

    async def total(self, query: Query, field: str | None = None) -> int:
        return await self._store.total(query, field)

    async def commit(self, *writes: Write) -> datetime:
        return await self._store.commit(*writes)

    async def scrub(self) -> bool:
        return await self._store.scrub()

    async def check(self) -> StoreHealth:
        return await self._store.check()

    async def close(self) -> None:
        await self._store.close()


class Counted(Wrapped):
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
