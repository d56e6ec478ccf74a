"""Reads a fleet for `fleet-memory export`.

Snapshots, leases, the note of the last run and its sums stay behind: the import makes them again. A
collection is read whole: a fleet of 1,000 full programs takes some 300 MB.
"""

from collections.abc import AsyncIterator
from itertools import chain

from fleet_memory import __version__
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.jobs.transfer.file import COLLECTIONS, Line, file_text
from fleet_memory.repositories.blocks import document_blocks
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.schemas.policy import Policy
from fleet_memory.stores import Document, Query, Store


async def export_text(fleet: Fleet, step: CountProgress) -> tuple[str, int]:
    """Return the file of a fleet, and how many documents it has. Raises ForbiddenError unless the
    caller may curate.
    """
    fleet.caller.require_curation()
    lines = [line async for line in _lines(fleet, step)]
    return file_text(fleet.programs.paths.fleet_id, __version__, fleet.now().isoformat(), lines)


async def _lines(fleet: Fleet, step: CountProgress) -> AsyncIterator[Line]:
    store, paths = fleet.programs.store, fleet.programs.paths
    for number, collection in enumerate(COLLECTIONS, 1):
        if collection == "policy":
            policy = (await fleet.policies.read_versioned()).policy
            if policy != Policy():
                yield Line("policy", "policy", policy.wire())
        else:
            documents = (
                _programs(store, paths)
                if collection == "programs"
                else _others(store, paths, collection)
            )
            async for document in documents:
                yield Line(
                    document.ref.collection.rpartition("/")[2], document.ref.id, document.fields
                )
        step(number, len(COLLECTIONS))


async def _others(store: Store, paths: FleetPaths, collection: str) -> AsyncIterator[Document]:
    if collection != "pages":  # they come with their programs
        for document in sorted(
            await store.find(Query(paths.collection(collection))),
            key=lambda document: document.ref.id,
        ):
            yield document


async def _programs(store: Store, paths: FleetPaths) -> AsyncIterator[Document]:
    async for heads in document_blocks(store, Query(paths.programs)):
        async for document in _with_pages(store, paths, heads):
            yield document


async def _with_pages(
    store: Store, paths: FleetPaths, heads: list[Document]
) -> AsyncIterator[Document]:
    """Yield the document of each program, and its pages, as they were at one moment.

    One that changes meanwhile is read again: a lesson that moves is in one of them. Billed 1 read
    each, and each page.
    """
    while heads:
        refs = {
            head.ref: paths.pages_of(str(head.fields["programId"]))
            if head.fields.get("paged")
            else []
            for head in heads
        }
        pages = {
            page.ref: page for page in await store.get(*chain(*refs.values())) if page is not None
        }
        moved = list[Document]()
        for head, now in zip(heads, await store.get(*refs), strict=True):
            if now is not None and now.revision == head.revision:
                for document in (head, *(pages[ref] for ref in refs[head.ref] if ref in pages)):
                    yield document
            elif now is not None:
                moved.append(now)
        heads = moved
