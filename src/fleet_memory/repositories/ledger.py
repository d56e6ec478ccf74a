"""The ledger: a line for each change of shared knowledge that matters, and for each read that is
noted.

A read is stored with `readAt` instead of `at`, so that no number of reads hides a change: a query
by either finds only its own, without a composite index.
"""

from typing import Final, Literal, TypeAlias

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.schemas.knowledge import Entry, LedgerEvent, LedgerLine
from fleet_memory.stores import Document, Json, Query, Write

LedgerTime: TypeAlias = Literal["at", "readAt"]
"""The field with the time of a line: `at` of a change, `readAt` of a read."""
MAX_LINES_OF_ENTRY: Final = 20  # ids of its newest lines that an entry names; chosen


class Ledger(FleetDocuments):
    """The ledger of one fleet."""

    async def count(self, event: LedgerEvent) -> int:
        """Return how many lines of this kind there are. Billed as one sum."""
        return await self.store.total(Query(self.paths.ledger, {"event": event}))

    async def latest(self, time: LedgerTime, limit: int) -> list[Document]:
        """Return the newest changes or reads, the newest first. Billed 1 read each."""
        return await self.store.find(Query(self.paths.ledger, order=f"-{time}", limit=limit))

    async def total(self, time: LedgerTime) -> int:
        """Return how many changes or reads there are. Billed as one sum."""
        return await self.store.total(Query(self.paths.ledger, order=time))

    async def newest(self, entry: Entry, count: int) -> list[LedgerLine]:
        """Return an entry's newest lines, at most `count` and 20, the oldest first. Billed 1 read
        each.
        """
        ids = entry.ledger[-count:]
        documents = await self.store.get(*map(self.paths.ledger_line, ids)) if ids else []
        return [ledger_line(document) for document in documents if document]

    def write(self, line: LedgerLine, line_id: str) -> Write:
        """Return the write of a line under an id that no other line has, so that nothing there can
        block it.
        """
        return Write(self.paths.ledger_line(line_id), line_fields(line))


def line_fields(line: LedgerLine) -> dict[str, Json]:
    """Return the fields of a line as they are stored."""
    fields = line.wire()
    return (
        {"readAt" if name == "at" else name: fields[name] for name in fields}
        if line.event == "read"
        else fields
    )


def ledger_line(document: Document) -> LedgerLine:
    """Return the line in a document of the ledger."""
    fields = {"at" if name == "readAt" else name: value for name, value in document.fields.items()}
    return LedgerLine.from_fields(fields)
