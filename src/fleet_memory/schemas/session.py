"""Items of a session, as an agent sends them at its end. Limits: docs/state.md."""

from typing import Annotated, Final, TypeAlias

from pydantic import Field

from fleet_memory.schemas.fields import (
    Confidence,
    EvidenceText,
    Key,
    LineText,
    NoteText,
    outlined_as,
)
from fleet_memory.schemas.patterns import NewPattern, Outcome
from fleet_memory.schemas.value import Input

MAX_LESSONS: Final = 20
MAX_REPORTS: Final = 50
MAX_NOTES: Final = 20
MAX_MISSING_SENT: Final = 10


class SessionReport(Input):
    """A session's word about one lesson."""

    pattern_id: Annotated[
        Key, Field(description="A pattern id of yours, or the key of a knowledge entry")
    ]
    outcome: Annotated[Outcome, Field(description="Whether it proved true or false")] = "confirmed"
    confidence: Annotated[
        Confidence | None, Field(description="How sure you are now; unchanged when absent")
    ] = None
    evidence: Annotated[EvidenceText, Field(description="What you saw")] = ""


class SessionNote(Input):
    """A short-term note of a session."""

    text: Annotated[NoteText, Field(description="What to keep in mind, up to 500 characters")]
    pinned: Annotated[bool, Field(strict=True, description="Whether the cap must spare it")] = False


SessionLessons: TypeAlias = Annotated[
    tuple[
        Annotated[
            NewPattern,
            outlined_as("pattern", "domain", "confidence", "evidence", "id", "projectId"),
        ],
        ...,
    ],
    Field(max_length=MAX_LESSONS, description="As for store_memory"),
]
SessionReports: TypeAlias = Annotated[
    tuple[
        Annotated[SessionReport, outlined_as("patternId", "outcome", "confidence", "evidence")], ...
    ],
    Field(max_length=MAX_REPORTS, description="As for reinforce_memory"),
]
SessionNotes: TypeAlias = Annotated[
    tuple[Annotated[SessionNote, outlined_as("text", "pinned")], ...],
    Field(max_length=MAX_NOTES, description="As for write_note"),
]
MissingQuestions: TypeAlias = Annotated[
    tuple[LineText, ...],
    Field(max_length=MAX_MISSING_SENT, description="Questions memory could not answer"),
]
