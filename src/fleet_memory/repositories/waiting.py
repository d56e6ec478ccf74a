"""The lessons of each domain in compact shards, which consolidation alone writes, under its lease.

What they hold can be rebuilt from the programs at any time. A run reads the shards of the topics that changed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, cast

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.rules.consensus.lessons import Lessons, Shard, decoded
from fleet_memory.schemas.value import decoded_json
from fleet_memory.schemas.waiting import PAIRS, OpenPair, WaitingIndex
from fleet_memory.stores import Document, Write

MAX_PAIRS: Final = 500  # pairs kept for judgement, the likeliest first


class Shards(FleetDocuments):
    """The shards of one fleet."""

    async def index(self) -> tuple[WaitingIndex, list[OpenPair]]:
        """Return what the last run left, and the pairs it offered. Billed 2 reads."""
        index, pairs = await self.store.get(self.paths.waiting_index, self.paths.waiting_pairs)
        return (
            WaitingIndex.from_json(str(index.fields["text"])) if index else WaitingIndex(),
            decoded_json(PAIRS, str(pairs.fields["text"])) if pairs else [],
        )

    async def read(self, domains: Collection[str], index: WaitingIndex) -> dict[str, Lessons]:
        """Return the lessons of these domains, none for those without shards. Billed 1 read per shard, at least 1 each.

        A first shard says itself how many there are: a run that was killed may have left the index behind.
        """
        parts = {domain: index.domains[domain].parts if domain in index.domains else 1 for domain in sorted(domains)}
        found = await self._parts([(domain, part) for domain in parts for part in range(parts[domain])])
        counts = {
            domain: cast("int", document.fields["parts"]) for (domain, part), document in found.items() if not part
        }
        more = [(domain, part) for domain in counts for part in range(parts[domain], counts[domain])]
        found |= await self._parts(more)
        return {
            domain: decoded(_shard(found[domain, part]) for part in range(count) if (domain, part) in found)
            for domain, count in counts.items()
        }

    def writes(self, domain: str, shards: Sequence[Shard]) -> list[Write]:
        """Return the writes that replace a domain's shards."""
        return [
            Write(
                self.paths.waiting_shard(domain, part),
                {"parts": len(shards), "rows": shard.rows, "vectors": shard.vectors},
            )
            for part, shard in enumerate(shards)
        ]

    def index_writes(self, index: WaitingIndex, pairs: Iterable[OpenPair]) -> list[Write]:
        """Return the writes that replace the index and the pairs that wait for judgement."""
        likeliest = sorted(pairs, key=lambda pair: (-pair.contrast, pair.pair_id))[:MAX_PAIRS]
        return [
            Write(self.paths.waiting_index, {"text": index.compact()}),
            Write(self.paths.waiting_pairs, {"text": PAIRS.dump_json(likeliest, by_alias=True).decode()}),
        ]

    async def _parts(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Document]:
        documents = (
            await self.store.get(*(self.paths.waiting_shard(domain, part) for domain, part in wanted)) if wanted else []
        )
        return {name: document for name, document in zip(wanted, documents, strict=True) if document is not None}


def _shard(document: Document) -> Shard:
    fields: Mapping[str, object] = document.fields
    return Shard(str(fields["rows"]), str(fields["vectors"]))
