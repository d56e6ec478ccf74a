"""The answers of the core tools: lean objects, absent instead of null. Each shape is documented in docs/tools/."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from pydantic import JsonValue

from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value

StoreStatus: TypeAlias = Literal["created", "updated", "reinforced", "duplicate", "unchanged"]
FreshnessGrade: TypeAlias = Literal["up_to_date", "slightly_stale", "stale"]
KnowledgeStatus: TypeAlias = Literal["fresh", "verify", "contested"]
Standing: TypeAlias = KnowledgeStatus | Literal["retired"]
HealthVerdict: TypeAlias = Literal["healthy", "empty", "forgetting", "hoarding", "echoing", "repeating", "unreinforced"]


class Freshness(Value):
    """How far shared knowledge is behind what agents stored. Stale means verify, not discard."""

    grade: FreshnessGrade
    is_stale: bool
    pending: int
    consolidated_at: Timestamp | None = None
    reason: str


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


class ScoreTerms(Value):
    """The terms of a score; ranking recomputes it as docs/recall.md says."""

    semantic: float | None = None
    words: float | None = None
    strength: float


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


class KnowledgeAnswer(Value):
    """One shared entry."""

    key: str
    pattern: str
    domain: str
    confidence: float
    contributor_count: int
    contributors: tuple[str, ...] | None = None
    evidence_count: int
    last_confirmed: Timestamp
    status: Standing
    score: float | None = None
    explain: ScoreTerms | None = None


class Absence(Value):
    """What an answer adds when nothing was ever stored for the program."""

    exists: Literal[False] | None = None
    suggestions: tuple[str, ...] | None = None


class Degraded(Value):
    """What an answer adds when another similarity engine stands in for the configured one."""

    similarity_engine: str | None = None


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


class DecayAnswer(Value):
    """How a program forgets; ages in days."""

    max_age: int
    max_unpromoted_patterns: int
    prune_after: int


class FadingPattern(Value):
    """A pattern that will be stale soon unless it is reinforced."""

    id: str
    pattern: str
    stale_in_days: float


class HealthAnswer(Absence, Degraded):
    """A program's memory as numbers, and what to do about them."""

    program_id: str
    total_patterns: int
    active_patterns: int
    stale_patterns: int
    promoted_patterns: int
    domains: tuple[str, ...]
    last_update: Timestamp | None = None
    decay_config: DecayAnswer
    stale_ratio: float
    verdict: HealthVerdict
    advice: tuple[str, ...]
    fading_soon: tuple[FadingPattern, ...]
    freshness: Freshness


class LessonAnswer(Value):
    """One program's lesson in a pair to judge."""

    program_id: str
    pattern_id: str
    domain: str
    pattern: str


class ReviewPair(Value):
    """Two lessons that may be the same; judge them with `verdicts`."""

    pair_id: str
    similarity: float
    contrast: float
    objection: str | None = None
    a: LessonAnswer
    b: LessonAnswer
    explain: str


class PromotedPattern(Value):
    """Where one contribution of an entry came from."""

    program_id: str
    pattern_id: str
    similarity: float


class PromotedAnswer(Value):
    """An entry that this run made or would make."""

    key: str
    pattern: str
    domain: str
    confidence: float
    contributors: tuple[str, ...]
    evidence_count: int
    first_discovered: Timestamp
    last_promoted: Timestamp
    provenance: tuple[PromotedPattern, ...]
    explain: str


class UpdatedAnswer(Value):
    """An entry that gained contributors or returned."""

    key: str
    contributors: tuple[str, ...]
    evidence_count: int
    confidence: float
    explain: str


class ConsolidateAnswer(Degraded):
    """What consolidation grouped, what it refused and why, and what waits."""

    dry_run: bool
    threshold: int
    promoted: tuple[PromotedAnswer, ...] = ()
    updated: tuple[UpdatedAnswer, ...] = ()
    review: tuple[ReviewPair, ...] = ()
    contested: tuple[ReviewPair, ...] = ()
    waiting: int
    echoes: int
    stats: Mapping[str, int]


class ProgramAnswer(Value):
    """A program's own state at boot."""

    context_summary: Mapping[str, JsonValue] = field(default_factory=dict)
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    baselines: Mapping[str, JsonValue] = field(default_factory=dict)


class KnowledgeChanges(Value):
    """Keys of entries that changed since the version the agent knew."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()


class BootNote(Value):
    """A short-term note as boot shows it."""

    id: str
    text: str
    pinned: bool | None = None


class BootAnswer(Absence, Degraded):
    """Everything an agent reads before it starts to work: what seldom changes comes first, for prompt caches."""

    protocol: str
    agent_id: str
    constitution: tuple[KnowledgeAnswer, ...] = ()
    knowledge: tuple[KnowledgeAnswer, ...] = ()
    knowledge_version: int
    program: ProgramAnswer = ProgramAnswer()
    notes: tuple[BootNote, ...] | None = None
    patterns: tuple[PatternAnswer, ...] = ()
    fading_soon: tuple[FadingPattern, ...] | None = None
    changes: KnowledgeChanges = KnowledgeChanges()
    freshness: Freshness
    omitted: Mapping[str, int] = field(default_factory=dict)
