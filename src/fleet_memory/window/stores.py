"""The store as a page and an act use it: a page writes nothing, and an act is refused where what
the person saw has changed.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.pairs import Pairs, versioned_pair
from fleet_memory.repositories.programs import Programs, versioned_program
from fleet_memory.repositories.snapshots import versioned_entry
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Caller
from fleet_memory.stores import Document, Query, Ref, Store, StoreHealth, Write

READER: Final = Caller(role="auditor")  # bound to no program: it reads all, and writes nothing


class ChangedSinceError(InvalidArgumentError):
    """The subject of a decision has changed since the person saw it. Nothing was written."""


class _OnStore:
    """A store that passes every verb to another store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, *refs: Ref) -> list[Document | None]:
        return await self._store.get(*refs)

    async def find(self, query: Query) -> list[Document]:
        return await self._store.find(query)

    async def total(self, query: Query, field: str | None = None) -> int:
        return await self._store.total(query, field)

    async def commit(self, *writes: Write) -> datetime:
        return await self._store.commit(*writes)

    async def scrub(self) -> bool:
        return await self._store.scrub()

    async def check(self) -> StoreHealth:
        return await self._store.check()

    async def close(self) -> None:
        await self._store.close()


class _KeepingNothing(_OnStore):
    """A store whose commits succeed and leave nothing behind."""

    async def commit(self, *_: Write) -> datetime:
        return await self._store.commit()


class SeenDocument(NamedTuple):
    """A document that a person looked at, and the mark of what it showed, as `mark` reads it."""

    ref: Ref
    mark: Callable[[Document | None], str]
    shown: str


class _Watching(_OnStore):
    """A store that refuses to read what changed since a person saw it, until it has committed.

    Jobs read, decide, and commit with the revisions that they read: what this store let them read
    is what they change, or their commit conflicts and they read again.
    """

    def __init__(self, store: Store, seen: SeenDocument) -> None:
        super().__init__(store)
        self._seen: SeenDocument | None = seen

    async def get(self, *refs: Ref) -> list[Document | None]:
        documents = await super().get(*refs)
        for ref, document in zip(refs, documents, strict=True):
            seen = self._seen
            if seen and ref == seen.ref and seen.mark(document) != seen.shown:
                raise ChangedSinceError(
                    "Somebody changed this after your page was made. Nothing was done: look "
                    "again, and decide again."
                )
        return documents

    async def commit(self, *writes: Write) -> datetime:
        at = await super().commit(*writes)
        if self._seen and any(write.ref == self._seen.ref for write in writes):
            self._seen = None
        return at


def as_program(fleet: Fleet, program_id: str) -> Fleet:
    """Return the fleet as a program's agent calls it, on a store that keeps nothing, so that
    looking counts as no showing.
    """
    programs = Programs(_KeepingNothing(fleet.store), fleet.paths.fleet_id)
    return replace(fleet, programs=programs, caller=Caller(program_id))


def watching(fleet: Fleet, seen: SeenDocument) -> Fleet:
    """Return the fleet on a store that refuses an act on a changed document."""
    store, fleet_id = _Watching(fleet.store, seen), fleet.paths.fleet_id
    return replace(
        fleet,
        programs=Programs(store, fleet_id),
        knowledge=Knowledge(store, fleet_id),
        pairs=Pairs(store, fleet.paths),
    )


def entry_mark(entry: Entry | None) -> str:
    """Return the mark of an entry, which each change of its facts renews."""
    return str(entry.version) if entry else ""


def pair_mark(pair: Pair | None) -> str:
    """Return the mark of a pair, which each verdict renews."""
    said = (
        [(str(each.program_id), each.verdict, str(each.at)) for each in pair.judgements]
        if pair
        else []
    )
    return digest(pair.state if pair else "", *(part for each in said for part in each))


def text_mark(text: str) -> str:
    """Return the mark of a lesson by its text."""
    return digest(text)


def entry_seen(fleet: Fleet, key: str, shown: str) -> SeenDocument:
    """Return what a page showed of an entry."""

    def mark(document: Document | None) -> str:
        return entry_mark(versioned_entry(document).entry if document else None)

    return SeenDocument(fleet.paths.entry(key), mark, shown)


def pair_seen(fleet: Fleet, pair_id: str, shown: str) -> SeenDocument:
    """Return what a page showed of a pair."""

    def mark(document: Document | None) -> str:
        return pair_mark(versioned_pair(document).pair if document else None)

    return SeenDocument(fleet.paths.pair(pair_id), mark, shown)


def lesson_seen(fleet: Fleet, program_id: str, lesson_id: str, shown: str) -> SeenDocument:
    """Return what a page showed of a program's lesson."""

    def mark(document: Document | None) -> str:
        lessons = versioned_program(document).program.patterns if document else {}
        return text_mark(lessons[lesson_id].pattern) if lesson_id in lessons else ""

    return SeenDocument(fleet.paths.program(program_id), mark, shown)
