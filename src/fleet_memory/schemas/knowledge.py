"""Shared knowledge: an entry as the store keeps it, and the compact rows that boot reads."""

from typing import Annotated, Literal, TypeAlias, TypedDict

from pydantic import Field

from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value

Tier: TypeAlias = Literal["architectural", "constitutional"]
KnowledgeStatus: TypeAlias = Literal["fresh", "verify", "contested"]
Standing: TypeAlias = KnowledgeStatus | Literal["retired"]
FreshnessGrade: TypeAlias = Literal["up_to_date", "slightly_stale", "stale"]
EntryStatus: TypeAlias = Literal["active", "retired"]
LedgerEvent: TypeAlias = Literal["promoted", "attached", "confirmed", "contradicted", "retired", "returned", "seeded"]


class Contribution(Value):
    """One program's lesson behind an entry; `similarity` is its cosine to the entry's text (1 for the text itself).

    `program_deleted` marks a contribution of a program whose memory was deleted since.
    """

    program_id: str
    pattern_id: str
    pattern: str
    confidence: float
    evidence: str = ""
    discovered_at: Timestamp
    session_id: str | None = None
    similarity: float
    program_deleted: bool | None = None


class Statement(TypedDict):
    """The fields of an entry that every form of it shows: the row of a snapshot, and the answers of tools."""

    pattern: str
    domain: str
    confidence: float
    contributors: tuple[str, ...]
    evidence_count: int


class EntryValue(Value):
    """What an entry says."""

    pattern: str
    domain: str
    confidence: Annotated[float, Field(description="Median over the contributors")]
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


class Contradiction(Value):
    """One program's word that an entry is no longer true."""

    program_id: str
    at: Timestamp
    session_id: str | None = None
    evidence: str = ""


class Entry(Value):
    """One shared entry: the truth that snapshots are made from.

    `since` is the knowledge version in which it first appeared, 0 while no snapshot holds it: nobody can have read it.
    `unpublished` says that the snapshot is behind this entry.
    """

    namespace: Literal["knowledge"] = "knowledge"
    key: str
    value: EntryValue
    tier: Tier = "architectural"
    description: str = ""
    version: int = 1
    status: EntryStatus = "active"
    provenance: tuple[Contribution, ...] = ()
    last_confirmed: Timestamp
    confirmations: int = 0
    contradictions: tuple[Contradiction, ...] = ()
    since: int = 0
    unpublished: bool = True
    request_ids: tuple[str, ...] = ()
    vector: str = ""
    embedder: str = ""

    @property
    def contradicted_by(self) -> tuple[str, ...]:
        """The programs whose word against it stands."""
        return tuple(word.program_id for word in self.contradictions)


class KnowledgeRow(Value):
    """One entry as boot reads it: compact, with its vector.

    `changed_in` is the knowledge version of its last change; `wordings` are the text hashes of its contributions.
    """

    key: str
    tier: Tier = "architectural"
    pattern: str
    domain: str
    confidence: float
    contributors: tuple[str, ...] = ()
    evidence_count: int = 0
    last_confirmed: Timestamp
    contradicted_by: tuple[str, ...] = ()
    status: EntryStatus = "active"
    since: int = 0
    changed_in: int = 0
    wordings: tuple[str, ...] = ()
    vector: str = ""
    embedder: str = ""


class Snapshot(Value):
    """The knowledge of the fleet at one version; version 0 is the empty one before any consolidation."""

    version: int = 0
    consolidated_at: Timestamp | None = None
    rows: tuple[KnowledgeRow, ...] = ()


class LedgerLine(Value):
    """One change of shared knowledge: who, when, why, from which patterns."""

    event: LedgerEvent
    key: str
    at: Timestamp
    by: str
    why: str = ""
    patterns: tuple[str, ...] = ()


class Freshness(Value):
    """How far shared knowledge is behind what agents stored. Stale means verify, not discard."""

    grade: FreshnessGrade
    is_stale: bool
    pending: int
    consolidated_at: Timestamp | None = None
    reason: str
