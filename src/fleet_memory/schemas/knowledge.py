"""Shared knowledge: an entry as stored, and the compact rows that boot reads."""

from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, TypeAlias, TypedDict

from pydantic import Field

from fleet_memory.schemas.fields import EvidenceText, Timestamp, vector_bytes
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.value import Value

Tier: TypeAlias = Literal["architectural", "constitutional"]
EntryState: TypeAlias = Literal["candidate", "fresh", "verify", "contested", "retired"]
Doubt: TypeAlias = Literal["one_connection", "one_judge", "open_rewrite", "unconfirmed"]
"""Why an entry is `verify`. Source: docs/knowledge.md."""
Basis: TypeAlias = Literal["text", "equal_words", "one_judge", "judged"]
"""Why a lesson supports an entry's text: it is the text, its words are equal, or one judge or more
called both the same.
"""
OriginRule: TypeAlias = Literal["program", "connection"]
FreshnessGrade: TypeAlias = Literal["up_to_date", "slightly_stale", "stale"]
ChangeEvent: TypeAlias = Literal[
    "promoted",
    "attached",
    "left",
    "demoted",
    "confirmed",
    "contradicted",
    "retired",
    "returned",
    "reinstated",
    "reworded",
    "split",
    "seeded",
    "policy",
    "erased",
]
"""A change of shared knowledge or of its policy: `fleet_health` counts them."""
LedgerEvent: TypeAlias = ChangeEvent | Literal["token_created", "token_revoked", "read"]
"""`read`: a bound caller read another program's memory."""


class Contribution(Value):
    """One program's lesson behind an entry, as it was when it joined.

    `similarity` is its cosine to the entry's text (1 for equal words). `stored_at` is the server's
    time of the first store of this text, None where an older version did not record it. `pair`: the
    id of the pair that its `basis` is from. `open_rewrite`: its author has since rewritten the
    lesson and has not judged the two texts. `vector` is that of the lesson's text, on the few
    contributions that agents find the entry by (`rules.entries`). `program_deleted`
    marks a contribution of a program that was deleted since. `token` is the id of the one that the
    lesson was stored with.
    """

    program_id: str
    pattern_id: str
    pattern: str
    confidence: float
    evidence: str = ""
    discovered_at: Timestamp
    session_id: str | None = None
    project_id: str | None = None
    similarity: float
    basis: Basis = "judged"
    pair: str | None = None
    stored_at: Timestamp | None = None
    open_rewrite: bool = False
    connection: str | None = None
    token: str | None = None
    client: str | None = None
    model: str | None = None
    program_deleted: bool | None = None
    vector: str = ""
    embedder: str = ""

    @property
    def learnt_at(self) -> datetime:
        """The time of its first store; the agent's own where an older version did not record
        that.
        """
        return self.stored_at or self.discovered_at


class Statement(TypedDict):
    """The fields of an entry that every form of it shows: the row of a snapshot, and the answers of
    tools.
    """

    pattern: str
    domain: str
    confidence: float
    contributors: tuple[str, ...]
    evidence_count: int


class EntryValue(Value):
    """The content of an entry."""

    pattern: str
    domain: str
    confidence: Annotated[float, Field(description="Median over the votes")]
    contributors: tuple[str, ...]
    evidence_count: int
    first_discovered: Timestamp
    last_promoted: Timestamp

    @property
    def statement(self) -> Statement:
        """The fields to pass on, e.g. `KnowledgeRow(key=entry.key, **entry.value.statement, …)`."""
        return {
            "pattern": self.pattern,
            "domain": self.domain,
            "confidence": self.confidence,
            "contributors": self.contributors,
            "evidence_count": self.evidence_count,
        }


class Word(Value):
    """One program's word about an entry, with its evidence: seen true (`confirmed`) or false
    (`contradicted`).

    `waits`: it counts once another origin contradicts too, because its program contradicted too
    much within a day.
    """

    program_id: str
    outcome: Outcome
    at: Timestamp
    evidence: str = ""
    session_id: str | None = None
    connection: str | None = None
    token: str | None = None
    waits: bool = False


class Entry(Value):
    """One shared entry: the truth that snapshots are made from. Its text is fixed; people may
    reword it.

    `words` are the words with evidence, each program's latest. `published_at` is its first
    promotion, None while it is a candidate that never was; `threshold` and `origins` are the policy
    that it was published under. `retired_at` is None unless it is retired. `relearnt` counts
    lessons that repeated it while it was. `since` is the knowledge version in which it first
    appeared, 0 while no snapshot has it. `unpublished`: the snapshot is behind this entry. `ledger`
    has the ids of its latest ledger lines, the newest last.
    """

    namespace: Literal["knowledge"] = "knowledge"
    key: str
    value: EntryValue
    tier: Tier = "architectural"
    description: str = ""
    version: int = 1
    provenance: tuple[Contribution, ...] = ()
    words: tuple[Word, ...] = ()
    project_id: str | None = None
    published_at: Timestamp | None = None
    threshold: int = 2
    origins: OriginRule = "program"
    retired_at: Timestamp | None = None
    relearnt: int = 0
    last_confirmed: Timestamp
    confirmations: int = 0
    since: int = 0
    unpublished: bool = True
    ledger: tuple[str, ...] = ()
    vector: str = ""
    embedder: str = ""

    @property
    def is_public(self) -> bool:
        """Whether agents have ever read it: the texts of an entry that was never published stay
        with their programs.
        """
        return self.published_at is not None or self.tier == "constitutional"


class KnowledgeRow(Value):
    """One entry as boot reads it: compact, with its vector. Candidates have none.

    `state` is its state when it was published last, without the passing of time; `doubts` are its
    reasons then. `never_published`: it retired before agents read it, and they read nothing of it;
    lessons are compared with it. `changed_in` is the knowledge version of its last change. `asked`
    is the program that is asked about its pairs. `wordings` are other contributors' texts and
    `reading_vector` the packed mean of its vector and theirs: a question finds the entry by them,
    and no answer shows them. Lessons are compared with `vector`, that of its text.
    """

    key: str
    tier: Tier = "architectural"
    pattern: str
    domain: str
    confidence: float
    contributors: tuple[str, ...] = ()
    evidence_count: int = 0
    last_confirmed: Timestamp
    state: EntryState = "fresh"
    doubts: tuple[Doubt, ...] = ()
    project_id: str | None = None
    asked: str = ""
    relearnt: int = 0
    never_published: bool = False
    since: int = 0
    changed_in: int = 0
    wordings: tuple[str, ...] = ()
    reading_vector: str = ""
    vector: str = ""
    embedder: str = ""

    @property
    def is_known(self) -> bool:
        """Whether agents may name it: it is published, or retired after it was."""
        return self.state != "candidate" and not self.never_published

    @property
    def is_hidden(self) -> bool:
        """Whether no agent reads it at boot: retired, or a candidate again."""
        return self.state in ("candidate", "retired")

    @cached_property
    def searched_text(self) -> str:
        """The text that the words of a question are found in: with its domain and its other
        wordings.
        """
        return " ".join((self.pattern, self.domain, *self.wordings))

    @cached_property
    def searched_vector(self) -> bytes:
        """The vector that a question is compared with, one number a byte."""
        return vector_bytes(self.reading_vector) or vector_bytes(self.vector)


class Snapshot(Value):
    """The knowledge of the fleet at one version; version 0 is the empty one before any
    consolidation.
    """

    version: int = 0
    consolidated_at: Timestamp | None = None
    rows: tuple[KnowledgeRow, ...] = ()

    @cached_property
    def readable(self) -> tuple[KnowledgeRow, ...]:
        """The rows that agents read at boot."""
        return tuple(row for row in self.rows if not row.is_hidden)


class LedgerLine(Value):
    """One change of shared knowledge or of the policy, or one read of another's memory: who, when,
    why, from where.

    `by` is a program, or who else acted; `token` the id of the token that it called with. `key` is
    that of an entry; of a `read` it may be a program, and `why` is the tool.
    """

    event: LedgerEvent
    key: str
    at: Timestamp
    by: str
    why: EvidenceText = ""
    patterns: tuple[str, ...] = ()
    token: str | None = None


class Freshness(Value):
    """How far shared knowledge is behind the lessons that agents stored. Stale means verify, not
    discard.

    `to_judge` counts the open pairs of the fleet, None where they are not counted.
    """

    grade: FreshnessGrade
    is_stale: bool
    pending: int
    to_judge: int | None = None
    consolidated_at: Timestamp | None = None
    reason: str
