"""The answer of `gsp_bootstrap`."""

from collections.abc import Mapping
from dataclasses import field

from pydantic import JsonValue

from fleet_memory.schemas.answers.common import Absence, Degraded, ToJudge
from fleet_memory.schemas.answers.health import FadingPattern
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.knowledge import Freshness
from fleet_memory.schemas.value import Value


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
    to_judge: tuple[ToJudge, ...] | None = None
    changes: KnowledgeChanges = KnowledgeChanges()
    freshness: Freshness
    omitted: Mapping[str, int] = field(default_factory=dict)
