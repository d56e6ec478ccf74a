"""What the fleet of the article lived through in three weeks: who learnt what, when, and in which words.

Source of the events: Bourlier, "What Agents Learn When You Let Them Remember".
The words are ours but for the first lesson.
"""

from typing import Final, NamedTuple


class Lesson(NamedTuple):
    """What an agent stores."""

    id: str
    domain: str
    text: str
    confidence: float
    evidence: str


class Session(NamedTuple):
    """One start of one agent: a server process of its own, whose clock begins at `at` (ISO 8601)."""

    program: str
    at: str
    event: str
    lessons: tuple[Lesson, ...]


BUILDER: Final = "basher"
REVIEWER: Final = "sark"
PLANNER: Final = "iso"
FLEET: Final = (BUILDER, PLANNER, REVIEWER)
NEWCOMER: Final = "quorra"

RACE: Final = Lesson(
    "firestore-claim-race-condition",
    "task-claiming",
    "Always check task.status === 'created' before claiming to avoid race conditions",
    0.85,
    "Failed 3 times claiming claimed tasks; the status check ended it",
)
REBASE: Final = Lesson(
    "rebase-before-retry",
    "git-operations",
    "Always run git pull --rebase before retrying a rejected push",
    0.8,
    "Two rejected pushes in a row; the third, after the rebase, went through",
)

WEEKS: Final = (
    Session(BUILDER, "2026-02-14T08:23:00Z", "claims a task that another agent holds, three times in a row", (RACE,)),
    Session(
        BUILDER,
        "2026-02-17T16:40:00Z",
        "fights a rejected push, then a session that went on too long",
        (
            REBASE,
            Lesson(
                "short-builder-sessions",
                "builder-sessions",
                "Builder sessions degrade past 45 minutes; start a fresh one",
                0.75,
                "Rework in the last third of four long sessions",
            ),
        ),
    ),
    Session(
        PLANNER,
        "2026-02-21T10:05:00Z",
        "hands the same task to two workers",
        (
            Lesson(
                "verify-before-claim",
                "task-claiming",
                "Two agents race for one task unless each verifies its status before the claim",
                0.84,
                "Task 118 was built twice",
            ),
            Lesson(
                "batch-claims",
                "task-queue",
                "Claim tasks in one batch instead of looping over single claims",
                0.78,
                "Forty single claims took nine minutes, one batch took seconds",
            ),
        ),
    ),
    Session(
        PLANNER,
        "2026-02-24T19:30:00Z",
        "loses a plan to a full context, and watches builders tire",
        (
            Lesson(
                "rotate-early",
                "context-management",
                "Rotate the context when 30-35 % of it remains",
                0.88,
                "At 10 % the summary itself no longer fitted",
            ),
            Lesson(
                "tired-builders",
                "builder-sessions",
                "Tired builders make careless edits; swap them out after a while",
                0.71,
                "Three of five handovers came too late",
            ),
        ),
    ),
    Session(
        REVIEWER,
        "2026-02-27T14:12:00Z",
        "finds two branches for one task, and a rebased branch it had already reviewed",
        (
            Lesson(
                "nobody-holds-it",
                "task-claiming",
                "To prevent races, confirm that nobody holds the task before you claim it",
                0.89,
                "Threw away one of two finished branches",
            ),
            Lesson(
                "keep-reviewed-history",
                "git-operations",
                "Never answer a rejected push with git pull --rebase; a reviewed branch must keep its history",
                0.72,
                "A rebase hid which commits had been reviewed",
            ),
            Lesson(
                "rotate-late",
                "context-management",
                "Rotate the context when 10 % of it remains",
                0.6,
                "Short reviews never came near the limit",
            ),
        ),
    ),
)

SECOND_LOOK: Final = "2026-03-03T09:15:00Z"  # the builder, in a new session
SURER: Final = 0.92
APPLIED: Final = "Applied 15 more times, zero failures"

WORKED_AGAIN: Final = "Another rejected push; it worked again"
JUDGEMENT: Final = "Both: builders get worse with time, so replace them early"

PROMOTION_DAY: Final = "2026-03-07T12:00:00Z"
NEWCOMER_DAY: Final = "2026-03-08T08:00:00Z"
NEWCOMER_TASK: Final = "claim the next task from the queue"
ECHO: Final = Lesson(
    "look-before-claiming",
    "task-claiming",
    "Check that a task still has the status created before claiming it, or two agents race for it",
    0.9,
    "Read it at boot, and it held",
)
ECHO_DAY: Final = "2026-03-09T12:00:00Z"
USED_AGAIN: Final = "2026-04-20T11:00:00Z"  # the builder needs one of its lessons again
HUNDRED_DAYS_LATER: Final = "2026-06-15T12:00:00Z"
TWO_HUNDRED_DAYS_LATER: Final = "2026-09-23T12:00:00Z"
