"""The ledger: one line for each version of each entry, never changed afterwards."""

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.schemas.knowledge import Entry, LedgerEvent, LedgerLine
from fleet_memory.stores import ABSENT, Query, Write


class Ledger(FleetDocuments):
    """The ledger of one fleet."""

    async def count(self, event: LedgerEvent) -> int:
        """Return how many lines of this kind there are. Billed as one sum."""
        return await self.store.total(Query(self.paths.ledger, {"event": event}))

    async def newest(self, entry: Entry, count: int) -> list[LedgerLine]:
        """Return an entry's newest lines, at most `count`, the oldest first. Billed 1 read each."""
        versions = range(max(1, entry.version - count + 1), entry.version + 1)
        documents = await self.store.get(*(self.paths.ledger_line(entry.key, version) for version in versions))
        return [LedgerLine.from_fields(document.fields) for document in documents if document]

    def write(self, entry: Entry, line: LedgerLine) -> Write:
        """Return the write of the line for an entry's version; the id makes a second line for it impossible."""
        return Write(self.paths.ledger_line(entry.key, entry.version), line.wire(), ABSENT)
