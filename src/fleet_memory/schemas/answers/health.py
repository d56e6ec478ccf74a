"""The answers of `memory_health` and `fleet_health`: a program's and a whole fleet's memory as
numbers.
"""

from collections.abc import Mapping

from fleet_memory.schemas.answers.common import Absence, Degraded
from fleet_memory.schemas.answers.consolidation import ContestedAnswer
from fleet_memory.schemas.answers.state import DecayAnswer
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.health import (
    FleetRates,
    Forecast,
    HealthVerdict,
    KnowledgeCounts,
    MissingQuestion,
    ModelRun,
    PatternCounts,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import Freshness
from fleet_memory.schemas.value import Value


class FadingPattern(Value):
    """A pattern that will be stale soon unless it is reinforced."""

    id: str
    pattern: str
    stale_in_days: float


class HealthAnswer(Absence, Degraded):
    """A program's memory as numbers, with advice.

    The counts are of all lessons, `domains` and `fading_soon` of those on no page.
    `promoted_patterns` contribute to entries, which may be candidates. `to_judge` counts the pairs
    that this program is asked about. `omitted` counts the items left out of each list.
    """

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
    omitted: Mapping[str, int] | None = None


class FleetHealthAnswer(Degraded):
    """A fleet's memory, the advice first. Absent parts are empty or 0.

    `as_of` is when a run counted the lessons of a fleet of more than 64 programs, of which
    `verdict`, `patterns`, `rates`, `verdicts`, `missing` and `unwell` speak: absent before the
    first run. A smaller fleet is read now. `judging` counts the pairs that wait: for `people`, for
    a `third` program, for `programs` with a lesson in them. `missing` are questions that memory
    could not answer, the commonest first, `relearnt` retired entries that were learnt again.
    `verdicts` counts programs, `ledger` changes of knowledge by kind. `forecast` leaves out the
    days that add nothing. `judge_model` is the last run of the model that the policy names.
    `omitted` counts the items left out of each list.
    """

    as_of: Timestamp | None = None
    verdict: HealthVerdict | None = None
    advice: tuple[str, ...]
    judging: Mapping[str, int] | None = None
    missing: tuple[MissingQuestion, ...] | None = None
    contested: tuple[ContestedAnswer, ...] | None = None
    relearnt: tuple[RelearntEntry, ...] | None = None
    unwell: tuple[ProgramHealth, ...] | None = None
    programs: int
    patterns: PatternCounts | None = None
    rates: FleetRates | None = None
    knowledge: KnowledgeCounts
    verdicts: Mapping[str, int] | None = None
    ledger: Mapping[str, int] | None = None
    forecast: tuple[Forecast, ...] | None = None
    freshness: Freshness
    judge_model: ModelRun | None = None
    omitted: Mapping[str, int] | None = None
