"""The answers of toolset `state`; like `answers`, absent instead of null."""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from fleet_memory.schemas.answers.common import Absence, Degraded, JudgedAnswer, ToJudge
from fleet_memory.schemas.answers.memory import EntryStanding, EvictedPattern
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.patterns import Outcome, StoreStatus
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


class StoredItem(Value):
    """The outcome for one lesson of a session; `related` are ids, `error`: why it failed.

    `evicted` names 25 lessons at most, and `omitted` counts the others.
    """

    status: StoreStatus | Literal["failed"]
    pattern_id: str
    duplicate_of: str | None = None
    related: tuple[str, ...] | None = None
    evicted: tuple[EvictedPattern, ...] | None = None
    omitted: int | None = None
    domain_hint: str | None = None
    note: str | None = None
    error: str | None = None


class ReinforcedItem(Value):
    """One lesson after a session's word about it; `error`: why it failed."""

    status: Outcome | Literal["failed"]
    pattern_id: str
    confidence: float | None = None
    strength: float | None = None
    revived: bool | None = None
    knowledge: EntryStanding | None = None
    evicted: tuple[EvictedPattern, ...] | None = None
    omitted: int | None = None
    note: str | None = None
    error: str | None = None


class NotedItem(Value):
    """The outcome for one note of a session."""

    status: Literal["added", "failed"]
    note_id: str | None = None
    archived: tuple[GoneNote, ...] | None = None
    error: str | None = None


class SessionAnswer(Degraded):
    """The outcome for each item of a session, in the order sent; `failed` counts those that were
    not applied.

    `handed_over`: the handoff is written, in this `version` of the state. `missing` counts the
    stored questions. `patterns_count` is the number of the program's lessons after new ones.
    """

    program_id: str
    failed: int
    patterns: tuple[StoredItem, ...] | None = None
    reinforcements: tuple[ReinforcedItem, ...] | None = None
    notes: tuple[NotedItem, ...] | None = None
    handed_over: Literal[True] | None = None
    missing: int | None = None
    judged: tuple[JudgedAnswer, ...] | None = None
    to_judge: tuple[ToJudge, ...] | None = None
    version: int
    patterns_count: int | None = None
