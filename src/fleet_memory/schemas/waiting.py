"""What consolidation remembers between runs: the lessons of each domain, and which runs have looked at them."""

from collections.abc import Mapping
from typing import Final

from pydantic import TypeAdapter

from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.value import Value


class Learnt(Value):
    """One program's active lesson as comparison needs it: without evidence. It turns stale after `stale_at`."""

    program_id: str
    pattern: Pattern
    stale_at: Timestamp

    @property
    def settled(self) -> bool:
        """Whether it belongs to an entry already: then it is only a rival of others."""
        return self.pattern.knowledge_key is not None


class DomainState(Value):
    """What the index says of one domain: its shards, its lessons, those in no entry, and when the first turns stale."""

    parts: int
    count: int
    waiting: int
    stale_from: Timestamp | None = None


class OpenPair(Value):
    """A pair that waits for judgement, as the last run that looked at it found it."""

    pair_id: str
    similarity: float
    contrast: float
    objection: str = ""
    contested: bool = False
    explain: str
    a_program: str
    a_id: str
    a_domain: str
    a_text: str
    b_program: str
    b_id: str
    b_domain: str
    b_text: str


class WaitingIndex(Value):
    """What the last run left: under which threshold, embedder and knowledge it decided, and about which topics.

    `judged` maps the latest judged pairs to their verdict: a repeated verdict is known.
    """

    threshold: int = 0
    embedder: str = ""
    knowledge_version: int = 0
    domains: Mapping[str, DomainState] = {}
    topics: tuple[tuple[str, ...], ...] = ()
    judged: Mapping[str, bool] = {}


LEARNT: Final = TypeAdapter(list[Learnt])
PAIRS: Final = TypeAdapter(list[OpenPair])
