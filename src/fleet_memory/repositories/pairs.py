"""Pairs on top of the four verbs: one document each, asked for by the programs that shall judge."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.repositories.documents import decoded_or_raised, iter_readable
from fleet_memory.repositories.paths import FleetDocuments
from fleet_memory.rules.pairs import awaits_model, questions
from fleet_memory.rules.text.keys import digest, text_hash
from fleet_memory.schemas.pairs import Pair, PairState
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

    @property
    def words(self) -> frozenset[str]:
        """The hashes of the words of both texts."""
        return (
            frozenset(text_hash(side.text) for side in (self.pair.a, self.pair.b))
            if self.pair
            else frozenset()
        )


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
        is. One of three is there while a judge is asked: `openRank` if programs with a side are,
        `askThird` if a program without a side is, `forPeople` if only people are left. The pair
        itself is stored as text.
        `modelRank` is there while a model may judge, named by the policy or not.
        """
        asked = questions(after)
        names = asked.programs
        a, b = after.a.program_id, after.b.program_id
        fields: dict[str, Json] = {
            "state": after.state,
            "askA": a if a in names else None,
            "askB": b if b in names and b != a else None,
            "openRank": after.margin if names else None,
            "askThird": asked.third or None,
            "forPeople": asked.people or None,
            "modelRank": after.margin if awaits_model(after) else None,
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
            pairs += _readable(await self.store.find(query))
        return _best_first(pairs)

    async def asking_third(self, program_id: str, turn: str, limit: int) -> list[VersionedPair]:
        """Return pairs that wait for a program without a side, at most `limit`, the likeliest
        first.

        Each program begins to read at another id, so that programs are asked about different pairs,
        and at another each `turn`, e.g. the time of the call, so that it comes to all of them.
        Billed 1 read each, at least 2.
        """
        return await self._some_of({"askThird": True}, digest(program_id, turn), limit)

    async def open_to_judge(self, program_id: str, turn: str, limit: int) -> list[VersionedPair]:
        """Return pairs for a judge of any pair, the likeliest first: at most `limit` that ask a
        side, and as many open.

        Those that ask a side are the likeliest of the fleet; the others change as in
        `asking_third`, so that a judge comes to all pairs. Billed 1 read each, at least 2.
        """
        best = _readable(
            await self.store.find(Query(self.paths.pairs, order="-openRank", limit=limit))
        )
        others = await self._some_of({"state": "open"}, digest(program_id, turn), limit)
        known = {versioned.pair_id for versioned in best}
        return _best_first([*best, *(other for other in others if other.pair_id not in known)])

    async def _some_of(
        self, where: Mapping[str, Scalar], start: str, limit: int
    ) -> list[VersionedPair]:
        """Return at most `limit` pairs with these values, by id from `start` on and then from the
        first.
        """
        documents = list(
            await self.store.find(Query(self.paths.pairs, where, after=start, limit=limit))
        )
        if len(documents) < limit:
            first = await self.store.find(
                Query(self.paths.pairs, where, limit=limit - len(documents))
            )
            documents += [
                document
                for document in first
                if document.ref not in {known.ref for known in documents}
            ]
        return _best_first(_readable(documents))

    async def asking(self) -> list[Pair]:
        """Return every pair that programs with a side are asked about, the likeliest first.
        Billed 1 read each.
        """
        pairs = _readable(await self.store.find(Query(self.paths.pairs, order="-openRank")))
        return [versioned.pair for versioned in pairs if versioned.pair]

    async def for_model(self, limit: int) -> list[Pair]:
        """Return pairs that a model may judge, the likeliest first, at most so many. Billed 1 read
        each, at least 1.
        """
        pairs = _readable(
            await self.store.find(Query(self.paths.pairs, order="-modelRank", limit=limit))
        )
        return [versioned.pair for versioned in pairs if versioned.pair]

    async def waiting(self) -> list[Pair]:
        """Return every pair that programs or people are asked about, unreadable ones skipped, each
        once.

        Decoded in a thread. Billed 1 read each.
        """
        by_id = dict[str, Pair]()
        for query in (
            Query(self.paths.pairs, order="-openRank"),
            Query(self.paths.pairs, {"askThird": True}),
            Query(self.paths.pairs, {"forPeople": True}),
        ):
            pairs = await to_thread.run_sync(_readable, await self.store.find(query))
            by_id |= {versioned.pair_id: versioned.pair for versioned in pairs if versioned.pair}
        return [*by_id.values()]

    async def all(self) -> list[Pair]:
        """Return every pair, unreadable ones skipped. Billed 1 read each."""
        pairs = _readable(await self.store.find(Query(self.paths.pairs)))
        return [versioned.pair for versioned in pairs if versioned.pair]

    async def in_state(self, state: PairState, limit: int | None = None) -> list[VersionedPair]:
        """Return pairs in this state, also those that ask no program; by id. Billed 1 read each."""
        return _readable(
            await self.store.find(Query(self.paths.pairs, {"state": state}, limit=limit))
        )

    async def count_open(self) -> int:
        """Return how many pairs are open. Billed as one sum."""
        return await self.store.total(Query(self.paths.pairs, {"state": "open"}))

    async def count_waiting(self) -> Counter[str]:
        """Return how many pairs somebody is asked about, by who is left to judge each: `programs`
        of their lessons alone, a `third` program, or `people` alone. Billed 3 sums.

        Counted one after the other: a pair may change between.
        """
        programs = await self.store.total(Query(self.paths.pairs, order="-openRank"))
        third, people = [
            await self.store.total(Query(self.paths.pairs, {name: True}))
            for name in ("askThird", "forPeople")
        ]
        return Counter(programs=programs, third=third, people=people)

    async def count_asked_of(self, program_id: str) -> int:
        """Return how many pairs a program is asked about. Billed as two sums."""
        totals = [
            await self.store.total(Query(self.paths.pairs, {name: program_id}))
            for name in ("askA", "askB")
        ]
        return sum(totals)


def _best_first(pairs: list[VersionedPair]) -> list[VersionedPair]:
    return sorted(
        pairs,
        key=lambda versioned: (
            -versioned.pair.margin if versioned.pair else 0.0,
            versioned.pair_id,
        ),
    )


def _readable(documents: Iterable[Document]) -> list[VersionedPair]:
    return list(iter_readable(documents, versioned_pair))
