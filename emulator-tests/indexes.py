"""Whether Firestore itself would answer a query: the emulator needs no index and never
complains.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NamedTuple

from fleet_memory.stores import Document, Query, Write
from tests.wrapped import ForwardingStore

FILE = Path(__file__).parent.parent / "firestore.indexes.json"
OWN = "examples"  # the collection group of tests with queries that the product never sends


class Index(NamedTuple):
    """A composite index: the collection group and its fields, descending with a leading "-"."""

    group: str
    fields: tuple[str, ...]


class Declared(NamedTuple):
    """The contents of firestore.indexes.json: composite indexes, and (group, field) pairs that have
    no index at all.
    """

    indexes: frozenset[Index]
    exempt: frozenset[tuple[str, str]]


def declared() -> Declared:
    content = json.loads(FILE.read_text())
    indexes = (
        Index(
            one["collectionGroup"],
            tuple(
                ("-" if f.get("order") == "DESCENDING" else "") + f["fieldPath"]
                for f in one["fields"]
            ),
        )
        for one in content["indexes"]
    )
    overrides = (
        (one["collectionGroup"], one["fieldPath"])
        for one in content["fieldOverrides"]
        if not one["indexes"]
    )
    return Declared(frozenset(indexes), frozenset(overrides))


def index_needed(query: Query, summed: str | None = None) -> Index | None:
    """Return the composite index that Firestore wants for a `find`, or for a `total` of `summed`.

    Its automatic indexes serve any number of equalities, or one order, or one sum. They end with
    the document's id, so equalities with `after` (an order by `__name__`) are served too. Source:
    cloud.google.com/firestore/docs/query-data/index-overview
    """
    asked = [name for name in (query.order, summed) if name and name.lstrip("-") not in query.where]
    if len(asked) > 1 or (asked and query.where):
        return Index(_group(query), (*sorted(query.where), *asked))
    return None


def problems(query: Query, summed: str | None, known: Declared) -> list[str]:
    """Return why Firestore would refuse, nothing when it would not."""
    group = _group(query)
    if group == OWN:
        return []
    named = [*query.where, *(name.lstrip("-") for name in (query.order, summed) if name)]
    found = [f"{group}.{name} has no index" for name in named if (group, name) in known.exempt]
    index = index_needed(query, summed)
    if index is not None and index not in known.indexes:
        found.append(f"{index} is not in {FILE.name}")
    return found


class Watched(ForwardingStore):
    """A store that fails a test with a query that Firestore would refuse, or writes a document
    twice in a commit.
    """

    asked: ClassVar[set[tuple[str, tuple[str, ...], str | None, str | None]]] = set()
    known: ClassVar[Declared] = declared()

    async def find(self, query: Query) -> list[Document]:
        self._note(query, None)
        return await super().find(query)

    async def total(self, query: Query, field: str | None = None) -> int:
        self._note(query._replace(limit=None, after=None), field)
        return await super().total(query, field)

    async def commit(self, *writes: Write) -> datetime:
        assert len({write.ref for write in writes}) == len(writes), (
            "two writes to one document in one commit"
        )
        return await super().commit(*writes)

    def _note(self, query: Query, summed: str | None) -> None:
        self.asked.add((_group(query), tuple(sorted(query.where)), query.order, summed))
        assert problems(query, summed, self.known) == []


def _group(query: Query) -> str:
    return query.collection.rsplit("/", 1)[-1]
