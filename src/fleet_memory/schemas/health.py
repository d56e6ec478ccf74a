"""A memory's health in numbers and one word."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from fleet_memory.schemas.value import Value

HealthVerdict: TypeAlias = Literal["empty", "forgetting", "hoarding", "unreinforced", "healthy"]


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
    """A run in which the policy's model judged pairs.

    `verdicts` counts those that it gave; pairs that it left to people are `steering`: one text was
    the same as anything, or contradicted anything. `failures` counts questions without a verdict,
    `problem` is the first one's. `tokens` are those that the endpoint states.
    """

    model: str
    verdicts: Mapping[str, int] = field(default_factory=dict)
    steering: int = 0
    calls: int = 0
    tokens: int = 0
    failures: int = 0
    problem: str | None = None
