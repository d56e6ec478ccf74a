"""The documents that were read or written last, so that an unchanged one is neither read nor
decoded again.
"""

from collections import OrderedDict
from typing import Final

from fleet_memory.stores import Ref
from fleet_memory.stores.sqlite.layout import StoredDocument

# A server's 16 decoded programs at 500 lessons each are 10 MB; the snapshot, leases, entries and
# pairs of its calls are the rest. Source: chosen.
MAX_CACHED_DOCUMENTS: Final = 64
MAX_CACHED_BYTES: Final = 16_000_000


class DocumentCache:
    """Documents by path, the least recently used leaving first. For one thread at a time.

    A document of the cache counts only under the revision that is in the file at that moment.
    Revisions never repeat: so no other process and no failed commit can make it wrong.
    """

    def __init__(
        self, max_documents: int = MAX_CACHED_DOCUMENTS, max_bytes: int = MAX_CACHED_BYTES
    ) -> None:
        self._documents: OrderedDict[Ref, StoredDocument] = OrderedDict()
        self._max_documents = max_documents
        self._max_bytes = max_bytes
        self._bytes = 0

    def lookup(self, ref: Ref, revision: int) -> StoredDocument | None:
        """Return the document if it is the one of this revision."""
        cached = self._documents.get(ref)
        if cached is None or cached.document.revision != str(revision):
            return None
        self._documents.move_to_end(ref)
        return cached

    def add(self, stored: StoredDocument) -> None:
        """Add a document in place of another one of its path."""
        self.discard(stored.document.ref)
        self._documents[stored.document.ref] = stored
        self._bytes += stored.size
        while len(self._documents) > self._max_documents or self._bytes > self._max_bytes:
            self.discard(next(iter(self._documents)))

    def discard(self, ref: Ref) -> None:
        """Remove a document, if it is here."""
        if ref in self._documents:
            self._bytes -= self._documents.pop(ref).size

    def clear(self) -> None:
        """Remove all documents."""
        self._documents.clear()
        self._bytes = 0
