"""The ledger: a line for each change of shared knowledge that matters, never changed afterwards."""

from typing import Final

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.schemas.knowledge import Entry, LedgerEvent, LedgerLine
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import Document, Query, Write

MAX_LINES_OF_ENTRY: Final = 20  # ids of its newest lines that an entry names; chosen
UNFIT_REASON: Final = "(a reason that is too long or has control characters)"


class Ledger(FleetDocuments):
    """The ledger of one fleet."""

    async def count(self, event: LedgerEvent) -> int:
        """Return how many lines of this kind there are. Billed as one sum."""
        return await self.store.total(Query(self.paths.ledger, {"event": event}))

    async def newest(self, entry: Entry, count: int) -> list[LedgerLine]:
        """Return an entry's newest lines, at most `count` and 20, the oldest first. Billed 1 read each."""
        ids = entry.ledger[-count:]
        documents = await self.store.get(*map(self.paths.ledger_line, ids)) if ids else []
        return [ledger_line(document) for document in documents if document]

    def write(self, line: LedgerLine, line_id: str) -> Write:
        """Return the write of a line under an id that no other line has, so that nothing there can block it."""
        return Write(self.paths.ledger_line(line_id), line.wire())


def ledger_line(document: Document) -> LedgerLine:
    """Return the line in a document of the ledger.

    A reason that an older version stored though it is too long, or has control characters, is left out.
    """
    try:
        return LedgerLine.from_fields(document.fields)
    except InvalidValueError:
        return LedgerLine.from_fields({**document.fields, "why": UNFIT_REASON})
