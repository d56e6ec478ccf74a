"""Answers of the tools of the toolset `knowledge`. Shapes of the fields are those of
schemas/knowledge.py.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Final, Literal

from pydantic import Field

from fleet_memory.schemas.answers.common import Degraded, ScoreTerms
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.knowledge import Doubt, EntryState, Freshness, LedgerEvent, Tier, Word
from fleet_memory.schemas.value import Value

FOR_PEOPLE: Final = "Id of the token that it was written with; only in fleet-memory show"


class KnowledgeAnswer(Value):
    """One shared entry. An explained one has every field, any other those that docs/recall.md
    names.
    """

    key: str
    pattern: str
    domain: Annotated[str | None, Field(description="Absent when the key names it")] = None
    confidence: Annotated[float | None, Field(description="Absent in a boot that is not full")] = (
        None
    )
    contributor_count: Annotated[
        int | None, Field(description="Absent in a boot that is not full")
    ] = None
    contributors: tuple[str, ...] | None = None
    evidence_count: Annotated[
        int | None, Field(description="Absent when equal to contributorCount")
    ] = None
    last_confirmed: Timestamp | None = None
    status: Annotated[EntryState | None, Field(description="Absent when fresh")] = None
    own: Annotated[Literal[True] | None, Field(description="A lesson of yours says it")] = None
    evidence: Annotated[str | None, Field(description="That of your lesson; in boots")] = None
    project_id: str | None = None
    score: float | None = None
    explain: ScoreTerms | None = None


class SearchAnswer(Degraded):
    """Entries that fit, best first; `note` when nothing fits well."""

    note: str | None = None
    suggestions: Annotated[tuple[str, ...] | None, Field(description="Close domains")] = None
    knowledge_version: int
    knowledge: tuple[KnowledgeAnswer, ...] = ()
    total: int
    truncated: bool
    freshness: Freshness


class ProvenanceLine(Value):
    """One program's lesson behind an entry; `similarity` is its cosine to the entry's text."""

    program_id: str
    pattern_id: str
    pattern: str
    confidence: float
    evidence: str
    discovered_at: Timestamp
    similarity: float
    program_deleted: bool | None = None
    token: Annotated[str | None, Field(description=FOR_PEOPLE)] = None


class HistoryLine(Value):
    """One line of an entry's ledger."""

    event: LedgerEvent
    at: Timestamp
    by: str
    why: str | None = None
    patterns: tuple[str, ...] | None = None
    token: Annotated[str | None, Field(description=FOR_PEOPLE)] = None


class EntryAnswer(Value):
    """One entry with its provenance and history; `omitted` counts the items that the budget left
    out.
    """

    key: str
    tier: Tier
    pattern: str
    domain: str
    confidence: float
    status: EntryState
    doubts: tuple[Doubt, ...] | None = None
    description: str
    version: int
    contributors: tuple[str, ...]
    evidence_count: int
    first_discovered: Timestamp
    last_promoted: Timestamp
    last_confirmed: Timestamp
    confirmations: int
    words: tuple[Word, ...] = ()
    provenance: tuple[ProvenanceLine, ...] = ()
    ledger: tuple[HistoryLine, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    freshness: Freshness


class DiffAnswer(Value):
    """Changes of shared knowledge since a version; `omitted` counts the items that the budget left
    out.
    """

    knowledge_version: int
    since_version: int
    retired: tuple[str, ...] = ()
    added: tuple[KnowledgeAnswer, ...] = ()
    updated: tuple[KnowledgeAnswer, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    freshness: Freshness
