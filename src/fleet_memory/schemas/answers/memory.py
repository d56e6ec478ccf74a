"""The answers of `store_memory`, `recall_memory` and `reinforce_memory`: lean objects, absent
instead of null.
"""

from typing import Annotated, Literal

from pydantic import Field

from fleet_memory.schemas.answers.common import Absence, Degraded, ScoreTerms, ToJudge
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.knowledge import EntryState, Freshness
from fleet_memory.schemas.patterns import StoreStatus
from fleet_memory.schemas.value import Value


class RelatedPattern(Value):
    """A pattern of the same program that is about something close. To replace it, store under its
    id.
    """

    id: Annotated[str, Field(description="Store under this id to replace it")]
    domain: str
    pattern: str
    similarity: float
    differs: Annotated[
        Literal["figures", "negation"] | None, Field(description="A hint, often wrong")
    ] = None


class EvictedPattern(Value):
    """A pattern that the cap moved out; a question still finds it, unless it is `in_archive`."""

    id: str
    domain: str
    pattern: str
    in_archive: Annotated[bool | None, Field(description="No question finds it")] = None


class PatternAnswer(Value):
    """One of a program's own lessons. An explained one has every field, any other those that
    docs/recall.md names.
    """

    id: str
    domain: str
    pattern: str
    evidence: str | None = None
    confidence: float
    strength: Annotated[
        float | None, Field(description="Its confidence, faded; absent when equal")
    ] = None
    stale: bool | None = None
    archived: Annotated[
        bool | None, Field(description="Over the cap: only a question finds it")
    ] = None
    age_days: Annotated[int | None, Field(description="Since it was last reinforced")] = None
    discovered_at: Timestamp | None = None
    last_reinforced: Timestamp | None = None
    reinforcements: int | None = None
    promoted_to_store: Annotated[bool | None, Field(description="It contributes to an entry")] = (
        None
    )
    knowledge_key: str | None = None
    project_id: str | None = None
    tags: tuple[str, ...] | None = None
    score: float | None = None
    explain: ScoreTerms | None = None


class StoreAnswer(Degraded):
    """The outcome of storing a pattern; `to_judge` has its rewrite and the text that the fleet
    still has.

    `domain_hint` is the name that the fleet, or else the program, uses for the same domain.
    `evicted` names 25 lessons at most, and `omitted` counts the others.
    """

    status: StoreStatus
    program_id: str
    pattern_id: str
    duplicate_of: str | None = None
    similarity: float | None = None
    related: tuple[RelatedPattern, ...] = ()
    evicted: tuple[EvictedPattern, ...] = ()
    omitted: int | None = None
    domain_hint: str | None = None
    note: str | None = None
    to_judge: tuple[ToJudge, ...] | None = None
    patterns_count: int


class RecallAnswer(Absence, Degraded):
    """Lessons of the program and entries of its fleet, best first; `note` when nothing fits
    well.
    """

    note: str | None = None
    patterns: tuple[PatternAnswer, ...] = ()
    knowledge: tuple[KnowledgeAnswer, ...] = ()
    total: int
    truncated: bool
    freshness: Freshness


class EntryStanding(Value):
    """The knowledge entry that a word was about, and its state after it."""

    key: str
    status: EntryState


class ReinforceAnswer(Value):
    """Where a pattern or an entry stands after an outcome; `note`: why a word did not count for the
    fleet.

    `evicted` and `omitted` are as those of a store.
    """

    pattern_id: str
    confidence: float
    strength: float
    reinforcements: int
    last_reinforced: Timestamp
    revived: bool
    knowledge: EntryStanding | None = None
    evicted: tuple[EvictedPattern, ...] | None = None
    omitted: int | None = None
    note: str | None = None
