"""The answers of toolset `state`; like `answers`, absent instead of null."""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from fleet_memory.schemas.answers.common import Absence
from fleet_memory.schemas.answers.memory import EvictedPattern
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.state import ContextSummary
from fleet_memory.schemas.value import Value


class NoteAnswer(Value):
    """A short-term note; `at` is when its text was written last."""

    id: str
    text: str
    pinned: Literal[True] | None = None
    at: Timestamp


class GoneNote(Value):
    """A note that the cap moved to the archive."""

    id: str
    text: str


class NotedAnswer(Value):
    """How a note changed; `lines` are those of all notes, of 80."""

    status: Literal["added", "edited", "removed", "unchanged"]
    note_id: str
    lines: int
    archived: tuple[GoneNote, ...] | None = None


class ForgetAnswer(Value):
    """A pattern that went to the archive. With a `knowledge_key` the entry keeps its
    contribution.
    """

    archive_id: str
    knowledge_key: str | None = None


class DecayAnswer(Value):
    """How a program forgets; ages in days."""

    max_age: int
    max_unpromoted_patterns: int
    prune_after: int


class SummaryAnswer(Value):
    """A context summary, and from when it was the program's."""

    at: Timestamp
    version: int
    context_summary: ContextSummary


class StateAnswer(Absence):
    """A program's state without its empty parts; `version` counts its changes, `history` has the
    newest first.

    `omitted` counts the older summaries that were asked for and did not fit. `missing` are the
    questions that its memory could not answer, the newest last.
    """

    version: int
    context_summary: ContextSummary | None = None
    config: Mapping[str, JsonValue] | None = None
    baselines: Mapping[str, JsonValue] | None = None
    decay_config: DecayAnswer | None = None
    notes: tuple[NoteAnswer, ...] | None = None
    missing: tuple[str, ...] | None = None
    history: tuple[SummaryAnswer, ...] | None = None
    omitted: int | None = None
    last_update: Timestamp | None = None


class UpdateStateAnswer(Value):
    """How an update ended; `archived` names 25 patterns that a lower cap moved out, `omitted`
    counts the others.
    """

    status: Literal["updated", "unchanged"]
    version: int
    archived: tuple[EvictedPattern, ...] | None = None
    omitted: int | None = None
