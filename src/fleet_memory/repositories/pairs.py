"""Pairs on top of the four verbs: one document each, asked for by the programs that shall judge."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.repositories.documents import decoded_or_raised, iter_readable
from fleet_memory.repositories.paths import FleetDocuments
from fleet_memory.rules.pairs import questions
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.pairs import Pair
from fleet_memory.stores import ABSENT, Document, Json, Query, Scalar, Write

MAX_ASKED_BY_SIDE: Final = (
    12  # pairs that a call reads to find 3 to show, for each side; as many as a run opens
)


class VersionedPair(NamedTuple):
    """A pair as it was read, None when there is none, and the revision that a commit must
    expect.
    """

    pair_id: str
    pair: Pair | None
    revision: str


def versioned_pair(document: Document) -> VersionedPair:
    """Return the pair in a document. Raises ValueError or KeyError for fields of another shape."""
    pair = Pair.from_json(str(document.fields["text"]))
    return VersionedPair(pair.pair_id, pair, document.revision)


class Pairs(FleetDocuments):
    """The pairs of one fleet."""

    async def read(self, *pair_ids: str) -> list[VersionedPair]:
        """Return pairs with the revisions that a commit must expect, in this order. Billed 1 read
        each.

        Raises DocumentRejectedError for one that cannot be read.
        """
        documents = await self.store.get(*(self.paths.pair(pair_id) for pair_id in pair_ids))
        return [
            decoded_or_raised(document, versioned_pair)
            if document
            else VersionedPair(pair_id, None, ABSENT)
            for pair_id, document in zip(pair_ids, documents, strict=True)
        ]

    def write(self, before: VersionedPair, after: Pair) -> Write:
        """Return the write of a pair that is new or changed, valid until another writes it.

        `askA` and `askB`, the programs with a side that are asked, are there for queries while one
        is, and `waits` while anybody is asked: `programs` with a side, a `third`, or `people`; and
        `judgedByPersonAt`. The pair itself is stored as text.
        """
        asked = questions(after)
        names = asked.programs
        a, b = after.a.program_id, after.b.program_id
        waits = {"programs": bool(names), "third": asked.third, "people": asked.people}
        by_people = [each.at for each in after.judgements if each.program_id is None]
        fields: dict[str, Json] = {
            "state": after.state,
            "askA": a if a in names else None,
            "askB": b if b in names and b != a else None,
            "waits": next((who for who, is_asked in waits.items() if is_asked), None),
            "judgedByPersonAt": by_people[-1].isoformat() if by_people else None,
            "text": after.compact(),
        }
        if before.pair is None:
            fields = {name: value for name, value in fields.items() if value is not None}
        return Write(self.paths.pair(after.pair_id), fields, before.revision)

    async def asked_of(self, program_id: str) -> list[VersionedPair]:
        """Return pairs that a program is asked about, at most 24, the likeliest first. Billed 1
        read each, at least 2.
        """
        pairs: list[VersionedPair] = []
        for name in ("askA", "askB"):
            query = Query(self.paths.pairs, {name: program_id}, limit=MAX_ASKED_BY_SIDE)
            pairs += await self._found(query)
        return _best_first(pairs)

    async def some(
        self, where: Mapping[str, Scalar], program_id: str, turn: str, limit: int
    ) -> list[VersionedPair]:
        """Return at most `limit` pairs with these values, e.g. `{"waits": "third"}`, the likeliest
        first.

        Each program begins to read at another id, so that programs are asked about different pairs,
        and at another each `turn`, e.g. the time of the call, so that it comes to all of them.
        Billed 1 read each, at least 2.
        """
        start = digest(program_id, turn)
        found = await self._found(Query(self.paths.pairs, where, after=start, limit=limit))
        if len(found) < limit:
            known = {pair.pair_id for pair in found}
            first = await self._found(Query(self.paths.pairs, where, limit=limit - len(found)))
            found += [pair for pair in first if pair.pair_id not in known]
        return _best_first(found)

    async def waiting(self) -> list[Pair]:
        """Return every pair that programs or people are asked about, unreadable ones skipped, the
        likeliest first. Billed 1 read each.
        """
        found = await self._found(Query(self.paths.pairs, order="waits"))
        return [versioned.pair for versioned in _best_first(found) if versioned.pair]

    async def judged_by_people(self, limit: int) -> list[VersionedPair]:
        """Return the pairs that people judged last, the newest first. Billed 1 read each."""
        return await self._found(Query(self.paths.pairs, order="-judgedByPersonAt", limit=limit))

    async def all(self) -> list[Pair]:
        """Return every pair, unreadable ones skipped. Billed 1 read each."""
        found = await self._found(Query(self.paths.pairs))
        return [versioned.pair for versioned in found if versioned.pair]

    async def _found(self, query: Query) -> list[VersionedPair]:
        """Return the readable pairs of a query, decoded in a thread."""
        documents = await self.store.find(query)
        return await to_thread.run_sync(lambda: [*iter_readable(documents, versioned_pair)])

    async def count_open(self) -> int:
        """Return how many pairs are open. Billed as one sum."""
        return await self.store.total(Query(self.paths.pairs, {"state": "open"}))

    async def count_waiting(self) -> Counter[str]:
        """Return how many pairs somebody is asked about, by who is left to judge each: `programs`
        of their lessons alone, a `third` program, or `people` alone. Billed 3 sums.

        Counted one after the other: a pair may change between.
        """
        total, pairs = self.store.total, self.paths.pairs
        kinds = ("programs", "third", "people")
        return Counter({who: await total(Query(pairs, {"waits": who})) for who in kinds})

    async def count_asked_of(self, program_id: str) -> int:
        """Return how many pairs a program is asked about. Billed as two sums."""
        total, pairs = self.store.total, self.paths.pairs
        return sum([await total(Query(pairs, {name: program_id})) for name in ("askA", "askB")])


def _best_first(pairs: list[VersionedPair]) -> list[VersionedPair]:
    return sorted(pairs, key=lambda each: (-each.pair.margin if each.pair else 0.0, each.pair_id))
