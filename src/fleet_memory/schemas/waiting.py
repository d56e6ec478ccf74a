"""What consolidation remembers between runs: the lessons of each domain, and which runs have looked at them."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final, NamedTuple

from pydantic import TypeAdapter

from fleet_memory.schemas.value import Value


class Ruling(NamedTuple):
    """What a verdict says to comparison: who judged, whether the judge contributed one of the two."""

    same: bool
    judge: str
    contributed: bool


class Learnt(NamedTuple):
    """One lesson as comparison needs it, of a program or, with no program, an entry of shared knowledge.

    A plain tuple, because a run may hold a hundred thousand: times are seconds since 1970. `words` is a hash that is
    equal for texts of equal words, `wordings` more such hashes (an entry's contributions). A lesson with a
    `knowledge_key` belongs to an entry already: it is only a rival of others. It is stale after `stale_at`.
    `verdicts` maps the hash of another text to the judgement of the two.
    """

    program_id: str
    pattern_id: str
    domain: str
    text: str
    words: str
    confidence: float
    discovered_at: float
    stale_at: float
    session_id: str | None = None
    project_id: str | None = None
    knowledge_key: str | None = None
    verdicts: Mapping[str, Ruling] = MappingProxyType({})
    wordings: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Its program and its id."""
        return self[:2]

    @property
    def settled(self) -> bool:
        """Whether it belongs to an entry already, or is one."""
        return self.knowledge_key is not None


class DomainState(Value):
    """What the index says of one domain: its shards, its lessons, those in no entry; when the first turns stale.

    `stale_from` is in seconds since 1970, None for a domain without lessons.
    """

    parts: int
    count: int
    waiting: int
    stale_from: float | None = None


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
    domains: Mapping[str, DomainState] = field(default_factory=dict)
    topics: tuple[tuple[str, ...], ...] = ()
    judged: Mapping[str, bool] = field(default_factory=dict)


PAIRS: Final = TypeAdapter(list[OpenPair])
