"""A memory's health in numbers and one word."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value

HealthVerdict: TypeAlias = Literal["healthy", "empty", "forgetting", "hoarding", "unreinforced"]


class PatternCounts(Value):
    """The lessons of all programs; `archived` counts those that left."""

    total: int
    active: int
    stale: int
    promoted: int
    archived: int


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


class ProgramHealth(Value):
    """One program that is not healthy."""

    program_id: str
    verdict: HealthVerdict
    total: int
    stale: int


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
