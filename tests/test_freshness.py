"""How far shared knowledge is behind: graded by the lessons that no run has considered, and who
should see to it.
"""

import pytest

from fleet_memory.rules.curating import (
    NOBODY_PROPOSES,
    freshness,
    own_freshness,
)
from fleet_memory.schemas.knowledge import Freshness, FreshnessGrade
from tests.lessons import START, days, pattern, program


@pytest.mark.parametrize(
    ("pending", "grade", "is_stale"),
    [
        (0, "up_to_date", False),
        (1, "slightly_stale", False),
        (9, "slightly_stale", False),
        (10, "stale", True),
    ],
)
def test_knowledge_is_graded_by_the_lessons_that_wait(
    pending: int, grade: FreshnessGrade, *, is_stale: bool
) -> None:
    graded = freshness(pending, 3, START, START)
    assert graded == Freshness(
        grade=grade,
        is_stale=is_stale,
        pending=pending,
        to_judge=3,
        consolidated_at=START,
        reason=graded.reason,
    )


def test_a_reason_has_a_count() -> None:
    reasons = [freshness(pending, 0, START, START).reason for pending in (0, 1, 2, 12)]
    assert reasons == [
        "All lessons are compared.",
        "1 lesson waits for the next run.",
        "2 lessons wait for the next run.",
        "12 lessons wait for the next run.",
    ]


def test_a_reason_counts_the_pairs_that_wait_though_every_lesson_has_been_considered() -> None:
    assert [
        freshness(pending, pairs, START, START).reason for pending, pairs in ((0, 1), (2, 3))
    ] == [
        "All lessons are compared; 1 open pair waits for a verdict.",
        "2 lessons wait for the next run; 3 open pairs wait for a verdict.",
    ]


def test_after_a_day_without_a_run_the_reason_is_that_no_process_proposes() -> None:
    assert NOBODY_PROPOSES not in freshness(1, 0, START, START + days(1)).reason
    assert (
        freshness(1, 0, START, START + days(1.01)).reason
        == f"1 lesson waits for the next run: {NOBODY_PROPOSES}."
    )
    assert NOBODY_PROPOSES not in freshness(0, 0, START, START + days(30)).reason
    assert NOBODY_PROPOSES not in freshness(1, 0, None, START).reason


def test_only_lessons_that_are_still_there_wait() -> None:
    assert program(pattern(), pending=("p1", "gone")).waiting == 1


def test_own_lessons_are_read_live() -> None:
    assert own_freshness(0, START) == Freshness(
        grade="up_to_date",
        is_stale=False,
        pending=0,
        reason="Own lessons are read live. All lessons are compared.",
    )
    assert (
        own_freshness(2, START).reason
        == "Own lessons are read live. 2 lessons wait for the next run."
    )
