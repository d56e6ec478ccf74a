"""The answer of `gsp_bootstrap`."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Final

from pydantic import Field, JsonValue

from fleet_memory.schemas.answers.common import Absence, Degraded, ToJudge
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.knowledge import Freshness
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.value import Value

MAX_FADING: Final = 5  # lessons that fade soon, in a boot and in health


class ProgramAnswer(Value):
    """A program's own state at boot; empty parts are absent."""

    context_summary: Mapping[str, JsonValue] | None = None
    config: Mapping[str, JsonValue] | None = None
    baselines: Mapping[str, JsonValue] | None = None


class KnowledgeChanges(Value):
    """Keys of entries that changed since the version the agent knew; empty lists are absent."""

    added: tuple[str, ...] | None = None
    updated: tuple[str, ...] | None = None
    retired: tuple[str, ...] | None = None


class FadingPattern(Value):
    """A pattern that will be stale soon unless it is reinforced."""

    id: str
    pattern: str
    stale_in_days: float

    @classmethod
    def first(cls, soon: Sequence[tuple[float, Pattern]]) -> "tuple[FadingPattern, ...]":
        """Return the first 5 lessons that fade, with the days that each has left."""
        return tuple(
            cls(id=pattern.id, pattern=pattern.pattern, stale_in_days=round(days, 1))
            for days, pattern in soon[:MAX_FADING]
        )


class BootNote(Value):
    """A short-term note as boot shows it."""

    id: str
    text: str
    pinned: bool | None = None


class BootAnswer(Absence, Degraded):
    """Everything an agent reads before it starts to work: parts that seldom change come first, for
    prompt caches.
    """

    agent_id: str
    constitution: tuple[KnowledgeAnswer, ...] = ()
    knowledge: tuple[KnowledgeAnswer, ...] = ()
    domains: Annotated[
        tuple[str, ...], Field(description="The fleet's commonest names; use them")
    ] = ()
    knowledge_version: int
    program: ProgramAnswer = ProgramAnswer()
    notes: tuple[BootNote, ...] | None = None
    patterns: tuple[PatternAnswer, ...] = ()
    fading_soon: tuple[FadingPattern, ...] | None = None
    to_judge: tuple[ToJudge, ...] | None = None
    changes: KnowledgeChanges = KnowledgeChanges()
    freshness: Freshness
    omitted: Mapping[str, int] = field(default_factory=dict)
    protocol: str = ""
