"""The answers of `store_memory`, `recall_memory` and `reinforce_memory`: lean objects, absent instead of null."""

from fleet_memory.schemas.answers.common import Absence, Degraded, ScoreTerms
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.knowledge import Freshness, Standing
from fleet_memory.schemas.patterns import StoreStatus
from fleet_memory.schemas.value import Value


class RelatedPattern(Value):
    """A pattern of the same program that is about something close."""

    id: str
    domain: str
    pattern: str
    similarity: float


class EvictedPattern(Value):
    """A pattern that the cap moved to the archive."""

    id: str
    domain: str
    pattern: str


class PatternAnswer(Value):
    """One of a program's own patterns."""

    id: str
    domain: str
    pattern: str
    evidence: str
    confidence: float
    strength: float
    stale: bool
    age_days: float
    discovered_at: Timestamp
    last_reinforced: Timestamp
    reinforcements: int
    promoted_to_store: bool
    knowledge_key: str | None = None
    project_id: str | None = None
    tags: tuple[str, ...] | None = None
    score: float | None = None
    explain: ScoreTerms | None = None


class StoreAnswer(Degraded):
    """What became of a stored pattern."""

    status: StoreStatus
    program_id: str
    pattern_id: str
    duplicate_of: str | None = None
    similarity: float | None = None
    related: tuple[RelatedPattern, ...] = ()
    evicted: tuple[EvictedPattern, ...] = ()
    patterns_count: int


class RecallAnswer(Absence, Degraded):
    """What a program remembers and what its fleet knows, best first."""

    patterns: tuple[PatternAnswer, ...] = ()
    knowledge: tuple[KnowledgeAnswer, ...] = ()
    total: int
    truncated: bool
    freshness: Freshness


class ReinforceAnswer(Value):
    """Where a pattern or an entry stands after an outcome."""

    pattern_id: str
    confidence: float
    strength: float
    reinforcements: int
    last_reinforced: Timestamp
    revived: bool
    status: Standing | None = None
