"""Reading a collection in blocks: a large one is never in memory at once."""

from collections.abc import AsyncIterator
from typing import Final

from fleet_memory.stores import Document, Query, Store

DOCUMENTS_PER_BLOCK: Final = (
    50  # chosen: 50 documents of 900,000 bytes at most are 45 MB in memory at once
)
PROGRAMS_PER_BLOCK: Final = (
    20  # whole ones; chosen: with two pages of 600,000 bytes each at most, 42 MB of documents
)


async def document_blocks(
    store: Store, query: Query, size: int = DOCUMENTS_PER_BLOCK
) -> AsyncIterator[list[Document]]:
    """Yield the documents that match, by ascending id, in blocks of at most `size`; at least one,
    maybe empty.

    `query` has no order; it may begin after an id. Billed 1 read each.
    """
    while True:
        documents = await store.find(query._replace(limit=size))
        is_last = len(documents) < size
        query = query._replace(after=documents[-1].ref.id) if documents else query
        yield documents
        if is_last:
            return
        del documents
