"""Shared knowledge: an entry as stored, the compact rows that boot reads, and rules that people
seed.
"""

from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, TypeAlias, TypedDict

from pydantic import Field

from fleet_memory.schemas.fields import (
    Confidence,
    EvidenceText,
    LessonText,
    Name,
    Timestamp,
    vector_bytes,
)
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.value import Input, Value

Tier: TypeAlias = Literal["architectural", "constitutional"]
EntryState: TypeAlias = Literal["candidate", "fresh", "verify", "contested", "retired"]
Doubt: TypeAlias = Literal["tried", "one_connection", "unconfirmed"]
"""Why an entry is `verify`. Source: docs/knowledge.md."""
Basis: TypeAlias = Literal["text", "equal_words", "judged"]
"""Why a lesson supports an entry: it is the text, its words are equal, or a verdict holds."""
Position: TypeAlias = Literal["discovered", "confirmed", "contradicted"]
"""What an origin says of an entry, by its newest fact."""
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
    "seeded",
    "edited",
    "forgotten",
    "restored",
    "allowed",
    "policy",
    "erased",
]
"""A change of shared knowledge or of its policy: `fleet_health` counts them."""
LedgerEvent: TypeAlias = ChangeEvent | Literal["token_created", "token_revoked", "read"]
"""`read`: a bound caller read another program's memory."""


class Contribution(Value):
    """One lesson that supports an entry's text, as it was when it joined.

    `similarity` is its cosine to the entry's text (1 for equal words). `stored_at` is the server's
    time of the first store of this text; `read_first` and `read_last` are the program's first and
    last reading of knowledge before that. `pair`: the id of the pair that its `basis` is from.
    `could_read` is why its program could have read the entry, decided on joining, "" for a
    discovery. `of`: the key of the entry that the lesson joined, where that is read through this
    one now, and `of_reason` its reason here. `token`: the id of the token that stored the lesson.
    """

    program_id: str
    pattern_id: str
    pattern: str
    confidence: float
    evidence: str = ""
    discovered_at: Timestamp
    stored_at: Timestamp
    read_first: Timestamp | None = None
    read_last: Timestamp | None = None
    session_id: str | None = None
    project_id: str | None = None
    similarity: float
    basis: Basis = "judged"
    pair: str | None = None
    could_read: str = ""
    of: str = ""
    of_reason: str = ""
    connection: str | None = None
    token: str | None = None
    client: str | None = None
    model: str | None = None

    @property
    def is_discovery(self) -> bool:
        """Whether the program could not have read the entry before."""
        return not self.could_read and not self.of_reason


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
    much within a day. `pair`: the id of the pair whose verdict it is. `of`: the key of the entry
    that it was about, where that is read through this one now. `lesson`: the id of its program's
    lesson that it was about, and goes with.
    """

    program_id: str
    outcome: Outcome
    at: Timestamp
    evidence: str = ""
    session_id: str | None = None
    connection: str | None = None
    token: str | None = None
    waits: bool = False
    pair: str | None = None
    of: str = ""
    lesson: str = ""


class Publication(Value):
    """A period in which agents read an entry, and the rule that published it.

    `withdrawn_at` is None while it lasts.
    """

    at: Timestamp
    withdrawn_at: Timestamp | None = None
    threshold: int
    tried: int = 0
    origins: OriginRule = "program"


class Decision(Value):
    """A decision about an entry: people or words retired it, people reinstated or reworded it.

    `by` is "words" where enough origins contradicted it.
    """

    kind: Literal["retired", "reinstated", "reworded"]
    at: Timestamp
    by: str


class Entry(Value):
    """One shared entry: facts, and the view of them that snapshots are made from.

    Facts are its text (fixed; people may reword it) and project, `provenance` (the lessons that
    joined it), `words` about it, `publications` and `decisions`, each oldest first. All else is
    recomputed by `rules.entries.settled`: `value`, `threshold` and `origins` (the rule that it is
    published by, else the policy's), `last_confirmed`. `read_through` is the key of the older entry
    of the same meaning that has its facts, by the verdict of the pair `same_pair`; `also`: the keys
    of the entries read through this one. `unpublished`: the snapshot is behind this entry. `ledger`
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
    publications: tuple[Publication, ...] = ()
    decisions: tuple[Decision, ...] = ()
    project_id: str | None = None
    threshold: int = 2
    tried: int = 1
    origins: OriginRule = "program"
    read_through: str | None = None
    same_pair: str | None = None
    also: tuple[str, ...] = ()
    last_confirmed: Timestamp
    confirmations: int = 0
    unpublished: bool = True
    ledger: tuple[str, ...] = ()
    vector: str = ""
    embedder: str = ""

    @property
    def is_public(self) -> bool:
        """Whether agents have ever read it: the texts of an entry that was never published stay
        with their programs.
        """
        return bool(self.publications) or self.tier == "constitutional"

    @property
    def is_published(self) -> bool:
        """Whether agents read it now, as far as its publications say."""
        return bool(self.publications) and self.publications[-1].withdrawn_at is None

    @property
    def retired_at(self) -> datetime | None:
        """When the entry was retired; None if it is not."""
        newest = [each for each in self.decisions if each.kind != "reworded"][-1:]
        return newest[0].at if newest and newest[0].kind == "retired" else None

    @property
    def relearnt(self) -> int:
        """How many of its lessons were stored since it retired; 0 if it is not retired."""
        at = self.retired_at
        return sum(line.stored_at >= at for line in self.provenance) if at else 0


class KnowledgeRow(Value):
    """One entry as boot reads it: compact, with its vector. Candidates have none.

    `state` is its state when it was published last, without the passing of time; `doubts` are its
    reasons then. `also` are the keys of entries that are read through it. `never_published`: it
    retired before agents read it, and they read nothing of it; lessons are compared with it.
    `changed_in` is the knowledge version of its last change. `asked` is the program that is asked
    about its pairs.
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
    also: tuple[str, ...] = ()
    relearnt: int = 0
    never_published: bool = False
    since: int = 0
    changed_in: int = 0
    vector: str = ""
    embedder: str = ""

    @property
    def is_known(self) -> bool:
        """Whether agents may name the entry: it is published, or retired after publication."""
        return self.state != "candidate" and not self.never_published

    @property
    def is_hidden(self) -> bool:
        """Whether no agent reads it at boot: retired, or a candidate again."""
        return self.state in ("candidate", "retired")

    @cached_property
    def searched_text(self) -> str:
        """The text in which a question's words are looked up: text and domain."""
        return f"{self.pattern} {self.domain}"

    @cached_property
    def searched_vector(self) -> bytes:
        """The vector that a question is compared with, one number a byte."""
        return vector_bytes(self.vector)


class Snapshot(Value):
    """The knowledge of the fleet at one version, which was written at `version_at`; version 0 is
    the empty one before any consolidation.
    """

    version: int = 0
    version_at: Timestamp | None = None
    consolidated_at: Timestamp | None = None
    rows: tuple[KnowledgeRow, ...] = ()

    @cached_property
    def readable(self) -> tuple[KnowledgeRow, ...]:
        """The rows that agents read at boot."""
        return tuple(row for row in self.rows if not row.is_hidden)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys that agents have read."""
        return frozenset(row.key for row in self.rows if not row.never_published)


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


class Seed(Input):
    """One rule of a seed file, which people set for the whole fleet.

    `key` is the part after `constitution/`; made from the text when absent.
    """

    text: Annotated[LessonText, Field(description="The rule in one sentence")]
    domain: Annotated[Name, Field(description="Topic, e.g. releases")]
    key: Annotated[
        Name | None,
        Field(description="Its name after constitution/; made from the text when absent"),
    ] = None
    confidence: Annotated[Confidence, Field(description="0 to 1")] = 1.0
    why: Annotated[EvidenceText, Field(description="The reason; agents read it")] = ""


class SeedFile(Input):
    """A seed file."""

    entry: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=500)]
