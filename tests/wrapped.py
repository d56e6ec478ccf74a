"""A store around another: the base of stores that count, watch or interfere."""

from datetime import datetime

from fleet_memory.server.forwarding_store import ForwardingStore
from fleet_memory.stores import Document, Ref, Store, Write


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
