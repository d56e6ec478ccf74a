"""Changes of a program's state, as agents send them. Limits: docs/state.md; too long a value is
refused, never cut.
"""

from typing import Annotated, Final, TypeAlias

from pydantic import Field

from fleet_memory.schemas.fields import EvidenceText, HandoffText, LineText
from fleet_memory.schemas.programs import MAX_DAYS, MAX_PATTERNS
from fleet_memory.schemas.value import Input

MAX_WORK_ITEMS: Final = 30
MAX_QUESTIONS: Final = 20
MAX_TITLE_CHARS: Final = 300  # characters of a `LineText`
Days: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=MAX_DAYS)]


class LastTask(Input):
    """The last task of a program."""

    task_id: Annotated[LineText | None, Field(description="Its id where you got it")] = None
    title: Annotated[LineText | None, Field(description="What it was")] = None
    outcome: Annotated[EvidenceText | None, Field(description="How it ended")] = None
    notes: Annotated[EvidenceText | None, Field(description="For whoever continues")] = None


class ContextSummary(Input):
    """A program's handover to its next session."""

    last_task: Annotated[LastTask | None, Field(description="Merged field by field")] = None
    active_work_items: Annotated[
        tuple[LineText, ...] | None,
        Field(max_length=MAX_WORK_ITEMS, description="What is not finished; replaced whole"),
    ] = None
    handoff_notes: Annotated[HandoffText | None, Field(description="For the next session")] = None
    open_questions: Annotated[
        tuple[LineText, ...] | None, Field(max_length=MAX_QUESTIONS, description="Replaced whole")
    ] = None


class DecayPatch(Input):
    """A change of how a program forgets; an absent field stays, null sets the default."""

    max_age: Annotated[
        Days | None, Field(description="Days without reinforcement until stale, default 90")
    ] = None
    max_unpromoted_patterns: Annotated[
        Annotated[int, Field(strict=True, ge=1, le=MAX_PATTERNS)] | None,
        Field(description="Patterns kept before only a question finds the weakest, default 100"),
    ] = None
    prune_after: Annotated[
        Days | None, Field(description="Days stale until archived, default 90")
    ] = None
