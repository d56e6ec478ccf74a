import pytest

from fleet_memory.rules.knowledge.freshness import freshness


@pytest.mark.parametrize(
    ("pending", "grade", "is_stale"),
    [(0, "up_to_date", False), (1, "slightly_stale", False), (9, "slightly_stale", False), (10, "stale", True)],
)
def test_knowledge_is_graded_by_what_waits(pending: int, grade: str, is_stale: bool) -> None:
    found = freshness(pending)
    assert (found.grade, found.is_stale, found.pending) == (grade, is_stale, pending)


def test_a_stale_grade_says_to_verify() -> None:
    assert "verify" in freshness(12).reason
