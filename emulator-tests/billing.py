"""Firestore's bill, counted on any store."""

from datetime import datetime
from typing import NamedTuple

from fleet_memory.stores import Document, Query, Ref, Store, Write
from tests.wrapped import ForwardingStore


class Bill(NamedTuple):
    """`reads` of documents, asked for or returned; `sums` are one read per 1,000 programs each;
    `writes` committed.
    """

    reads: int = 0
    writes: int = 0
    sums: int = 0


class Billed(ForwardingStore):
    """A store that counts billed reads and writes. Source: cloud.google.com/firestore/pricing"""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.bill = Bill()

    async def get(self, *refs: Ref) -> list[Document | None]:
        self._add(reads=len(refs))
        return await super().get(*refs)

    async def find(self, query: Query) -> list[Document]:
        found = await super().find(query)
        self._add(reads=max(1, len(found)))
        return found

    async def total(self, query: Query, field: str | None = None) -> int:
        self._add(sums=1)
        return await super().total(query, field)

    async def commit(self, *writes: Write) -> datetime:
        self._add(writes=len(writes))
        return await super().commit(*writes)

    def _add(self, reads: int = 0, writes: int = 0, sums: int = 0) -> None:
        self.bill = Bill(self.bill.reads + reads, self.bill.writes + writes, self.bill.sums + sums)
