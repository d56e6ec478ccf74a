"""Writes a fleet to a file, for `fleet-memory export`.

Leases, the note of the last run and its sums stay behind, and the next run reads everything again. Snapshots move
along: programs refer to the version that they read. A collection is read whole: a fleet of 1,000 full programs takes
some 300 MB.
"""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path

from anyio import to_thread

from fleet_memory import __version__
from fleet_memory.fleet import CountProgress
from fleet_memory.jobs.transfer.file import COLLECTIONS, FORMAT, Line, hash_of_lines, require_room, write_whole
from fleet_memory.repositories.blocks import document_blocks
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.stores import Document, Query, Store


async def export_fleet(
    store: Store, fleet_id: str, file: Path, now: datetime, *, force: bool, step: CountProgress
) -> int:
    """Write the fleet to `file`, whole or not at all, and return how many documents. Raises InvalidArgumentError."""
    await to_thread.run_sync(partial(require_room, file, force=force))
    texts = [line.text() async for line in _lines(store, fleet_id, step)]
    header = {"format": FORMAT, "fleet": fleet_id, "version": __version__, "exportedAt": now.isoformat()}
    footer = {"documents": len(texts), "sha256": hash_of_lines(texts)}
    await to_thread.run_sync(write_whole, file, [json.dumps(header), *texts, json.dumps(footer)])
    return len(texts)


async def _lines(store: Store, fleet: str, step: CountProgress) -> AsyncIterator[Line]:
    paths = FleetPaths(fleet)
    for done, collection in enumerate(COLLECTIONS, 1):
        documents = _programs(store, paths) if collection == "programs" else _others(store, paths, collection)
        async for document in documents:
            yield Line(document.ref.collection.rpartition("/")[2], document.ref.id, document.fields)
        step(done, len(COLLECTIONS))


async def _others(store: Store, paths: FleetPaths, collection: str) -> AsyncIterator[Document]:
    if collection != "pages":  # they come with their programs
        for document in sorted(await store.find(Query(paths.collection(collection))), key=lambda one: one.ref.id):
            yield document


async def _programs(store: Store, paths: FleetPaths) -> AsyncIterator[Document]:
    async for heads in document_blocks(store, Query(paths.programs)):
        async for document in _with_pages(store, paths, heads):
            yield document


async def _with_pages(store: Store, paths: FleetPaths, heads: list[Document]) -> AsyncIterator[Document]:
    """Yield the document of each program, and its pages, as they were at one moment.

    One that changes meanwhile is read again: a lesson that moves is in one of them. Billed 1 read each, and each page.
    """
    while heads:
        refs = {
            head.ref: paths.pages_of(str(head.fields["programId"])) if head.fields.get("paged") else []
            for head in heads
        }
        pages = {page.ref: page for page in await store.get(*chain(*refs.values())) if page is not None}
        moved = list[Document]()
        for head, now in zip(heads, await store.get(*refs), strict=True):
            if now is not None and now.revision == head.revision:
                for document in (head, *(pages[ref] for ref in refs[head.ref] if ref in pages)):
                    yield document
            elif now is not None:
                moved.append(now)
        heads = moved
