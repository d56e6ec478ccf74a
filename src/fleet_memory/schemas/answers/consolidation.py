"""The answer of `pattern_consolidate`."""

from collections.abc import Mapping

from fleet_memory.schemas.answers.common import Degraded
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value


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
