"""The answers of `memory_health` and `fleet_health`: a program's and a whole fleet's memory as numbers."""

from collections.abc import Mapping

from fleet_memory.schemas.answers.common import Absence, Degraded
from fleet_memory.schemas.answers.consolidation import ContestedAnswer
from fleet_memory.schemas.answers.state import DecayAnswer
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.health import (
    FleetRates,
    Forecast,
    HealthVerdict,
    JudgingCounts,
    KnowledgeCounts,
    ModelRun,
    PatternCounts,
    ProgramHealth,
)
from fleet_memory.schemas.knowledge import Freshness
from fleet_memory.schemas.value import Value


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
    to_judge: int = 0
    freshness: Freshness


class FleetHealthAnswer(Degraded):
    """A fleet's memory. `verdicts` counts programs, `ledger` changes of knowledge by kind; what is absent is none.

    `contested` names at most 25 of the entries that `knowledge` counts; `omitted` counts programs of `unwell`.
    `judge_model` is the last run of the model that the policy names, absent where it names none.
    """

    judging: JudgingCounts
    contested: tuple[ContestedAnswer, ...] = ()
    verdict: HealthVerdict
    programs: int
    patterns: PatternCounts
    rates: FleetRates
    knowledge: KnowledgeCounts
    verdicts: Mapping[str, int]
    ledger: Mapping[str, int]
    forecast: tuple[Forecast, ...]
    advice: tuple[str, ...]
    freshness: Freshness
    judge_model: ModelRun | None = None
    unwell: tuple[ProgramHealth, ...] = ()
    omitted: int = 0
