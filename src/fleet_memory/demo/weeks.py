"""Three weeks of the article's fleet: its lessons with their agents, times and words.

Source of the events: Bourlier, "What Agents Learn When You Let Them Remember".
The words are ours but for the first lesson.
"""

from datetime import UTC, datetime
from typing import Final, NamedTuple

from fleet_memory.schemas.pairs import Verdict
from fleet_memory.schemas.patterns import NewPattern


def on(month: int, day: int) -> datetime:
    """Return noon of a day of the story's year."""
    return datetime(2026, month, day, 12, tzinfo=UTC)


class Lesson(NamedTuple):
    """A lesson, its agent and the experience that taught it."""

    at: datetime
    program: str
    evidence: str
    text: str
    domain: str
    confidence: float

    def sent(self) -> NewPattern:
        """Return the lesson as `store_memory` takes it."""
        return NewPattern(
            pattern=self.text,
            domain=self.domain,
            confidence=self.confidence,
            evidence=self.evidence,
        )


FLEET: Final = ("basher", "iso", "sark")
CHECK: Final = Lesson(
    on(2, 14),
    "basher",
    "failed three times to claim a task that another agent held",
    "Always check task.status === 'created' before claiming to avoid race conditions",
    "task-claiming",
    0.85,
)
FRESH: Final = Lesson(
    on(2, 17),
    "basher",
    "redid the last third of four long sessions",
    "Builder sessions degrade after a while; start a fresh one",
    "builder-sessions",
    0.75,
)
WEEKS: Final = (
    CHECK,
    FRESH,
    Lesson(
        on(2, 21),
        "iso",
        "gave the same task to two workers",
        "Two agents race for one task unless each verifies its status before the claim",
        "task-claiming",
        0.84,
    ),
    Lesson(
        on(2, 24),
        "iso",
        "saw three of five handovers come too late",
        "Tired builders make careless edits; swap them out after a while",
        "builder-sessions",
        0.71,
    ),
    Lesson(
        on(2, 25),
        "iso",
        "had no room left for a summary",
        "Rotate the context when 30-35 % of it remains",
        "context-management",
        0.88,
    ),
    Lesson(
        on(2, 27),
        "sark",
        "threw away one of two branches for one task",
        "To prevent races, confirm that nobody holds the task before you claim it",
        "task-claiming",
        0.89,
    ),
    Lesson(
        on(2, 28),
        "sark",
        "never came near the limit in short reviews",
        "Rotate the context when 10 % of it remains",
        "context-management",
        0.6,
    ),
)
ECHO: Final = Lesson(
    on(3, 8),
    "quorra",
    "read it at its start, and it held",
    "Check that a task still has the status created before claiming it, or two agents race for it",
    "task-claiming",
    0.9,
)

SECOND_LOOK: Final = on(3, 3)
SURER: Final = 0.92
APPLIED: Final = "Applied 15 more times, zero failures"
CONSOLIDATION: Final = on(3, 7)
JUDGEMENT: Final = "Compared by what each asks an agent to do"
SESSIONS_OF_EACH: Final = (
    2  # sessions of each agent; the second judges the pairs that the first leaves
)
ROTATION: Final = "context-management"
NEXT_CONSOLIDATION: Final = on(3, 9)
USED_AGAIN: Final = on(4, 20)
HUNDRED_DAYS_LATER: Final = on(6, 15)
TWO_HUNDRED_DAYS_LATER: Final = on(9, 23)


def verdict_about(one: str, other: str) -> Verdict:
    """Return a reader's verdict about two lessons of the story: those of one domain agree, but for
    the rotation.
    """
    domains = {lesson.text: lesson.domain for lesson in (*WEEKS, ECHO)}
    if domains[one] != domains[other]:
        return "different"
    return "contradict" if domains[one] == ROTATION else "same"
