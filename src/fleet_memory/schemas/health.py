"""A memory's health in numbers and one word."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value

HealthVerdict: TypeAlias = Literal[
    "healthy", "empty", "forgetting", "hoarding", "echoing", "repeating", "unreinforced"
]


class PatternCounts(Value):
    """The lessons of all programs; `archived` counts those that left."""

    total: int
    active: int
    stale: int
    promoted: int
    archived: int


class FleetRates(Value):
    """Shares from 0 to 1, 0 where there is nothing to count.

    `junk`: of all lessons ever stored, those that decay or a cap archived although they were never
    reinforced or promoted. `echo`: of the active lessons that consolidation considered, those that
    repeat entries that their program had read. `duplicate`: of the active lessons, those that
    repeat an earlier one of the same program. `never_reinforced`: of the present lessons, those
    that were never confirmed; reading is not recorded.
    """

    junk: float
    echo: float
    duplicate: float
    never_reinforced: float


class KnowledgeCounts(Value):
    """The shared entries by status; `constitutional` are those of the others that people wrote."""

    fresh: int
    verify: int
    contested: int
    retired: int
    constitutional: int


class JudgingCounts(Value):
    """The pairs that wait, by who is left to judge them; each counts once.

    `people`: people alone. `third`: a program with no lesson in them, and maybe one that has.
    `programs`: only programs with a lesson in them.
    """

    people: int = 0
    third: int = 0
    programs: int = 0


class MissingQuestion(Value):
    """A question that memory could not answer: how often sessions asked it, and how many programs
    did.
    """

    text: str
    times: int
    programs: int


class RelearntEntry(Value):
    """A retired entry, and how many lessons repeated it since."""

    key: str
    pattern: str
    relearnt: int


class Forecast(Value):
    """How many lessons turn stale, and entries `verify`, within so many days unless they are
    reinforced.

    `stale` is None beyond the days that a run counted ahead.
    """

    days: int
    stale: int | None = None
    verify: int


class ProgramHealth(Value):
    """One program that is not healthy."""

    program_id: str
    verdict: HealthVerdict
    total: int
    stale: int


class FleetSums(Value):
    """A fleet's programs as numbers, as of `at`: small, however many there are.

    `signs` are the numbers of all programs as if they were one, by name; `verdicts` counts
    programs. `unwell` and `missing` have the first 25, `missing_count` counts all questions.
    `fading` counts the lessons that turn stale on each of the 60 days from `at` on. `names_advice`
    has the line about names that several agents share, if any.
    """

    at: Timestamp
    programs: int
    signs: Mapping[str, int]
    verdicts: Mapping[str, int]
    unwell: tuple[ProgramHealth, ...]
    fading: tuple[int, ...]
    missing: tuple[MissingQuestion, ...]
    missing_count: int
    names_advice: tuple[str, ...]


class ModelRun(Value):
    """A run in which the policy's model judged pairs; `at` is its end, absent when there was none
    yet.

    `pairs` counts those that it judged, `verdicts` its verdicts; pairs that it left to people are
    `steering`: one text was the same as anything, or contradicted anything. `failures` counts
    questions without a verdict, `problem` is the first one's. `tokens` are those that the endpoint
    states.
    """

    model: str
    pairs: int = 0
    verdicts: Mapping[str, int] = field(default_factory=dict)
    steering: int = 0
    calls: int = 0
    tokens: int = 0
    failures: int = 0
    problem: str | None = None
    at: Timestamp | None = None
