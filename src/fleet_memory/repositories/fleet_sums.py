"""The sums of a fleet that the maintainer's last run left. They are derived: deleting them is
harmless.
"""

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.repositories.unreadable import UnreadableDocument, decoded
from fleet_memory.schemas.health import FleetSums
from fleet_memory.stores import Document, Write


def fleet_sums_of(document: Document) -> FleetSums:
    """Return the sums in a document. Raises KeyError or ValueError for fields of another shape."""
    return FleetSums.from_json(str(document.fields["text"]))


class SumsDocument(FleetDocuments):
    """The sums of one fleet."""

    async def read(self) -> FleetSums | None:
        """Return the sums, None where no run has left any that can be read; the next one does.
        Billed 1 read.
        """
        (document,) = await self.store.get(self.paths.sums)
        sums = decoded(document, fleet_sums_of) if document else None
        return None if isinstance(sums, UnreadableDocument) else sums

    def write(self, sums: FleetSums) -> Write:
        """Return the write that replaces the sums at any revision."""
        return Write(self.paths.sums, {"text": sums.compact()})
