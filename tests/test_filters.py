"""Filters: the lessons that recall and search admit, one condition at a time."""

from dataclasses import replace
from typing import Any

from fleet_memory.rules.retrieval.ranking import RecallFilters
from fleet_memory.schemas.knowledge import KnowledgeRow, Snapshot
from fleet_memory.schemas.patterns import Pattern
from tests.lessons import START, pattern

ALL = RecallFilters()
ROW = KnowledgeRow(key="pattern/d/x", pattern="x", domain="d", confidence=0.5, last_confirmed=START)


def admits(filters: RecallFilters, lesson: Pattern) -> bool:
    other = pattern(id="other", domain="other", last_reinforced=START)
    return lesson in filters.admitted((other, lesson))


def test_recall_admits_a_lesson_that_meets_every_condition() -> None:
    lesson = pattern(
        domain="d", project_id="p", tags=("a", "b"), confidence=0.5, last_reinforced=START
    )
    exact = RecallFilters(domain="d", project_id="p", tags=("b",), min_confidence=0.5)
    assert admits(ALL, lesson)
    assert admits(exact, lesson)
    others: list[dict[str, Any]] = [
        {"domain": "e"},
        {"project_id": "q"},
        {"tags": ("c",)},
        {"min_confidence": 0.6},
    ]
    assert [other for other in others if admits(exact._replace(**other), lesson)] == []


def test_agents_read_the_entries_of_a_snapshot_that_are_in_use() -> None:
    hidden = replace(ROW, state="retired"), replace(ROW, state="candidate")
    assert Snapshot(rows=(*hidden, ROW)).readable == (ROW,)


def test_recall_admits_entries_that_have_no_tags() -> None:
    assert ALL.admitted([ROW]) == [ROW]
    others: list[dict[str, Any]] = [{"domain": "e"}, {"tags": ("a",)}, {"min_confidence": 0.6}]
    assert [other for other in others if ALL._replace(**other).admitted([ROW])] == []


def test_recall_for_a_project_admits_entries_of_it_and_of_none() -> None:
    of_none, of_p, of_q = (replace(ROW, project_id=name) for name in (None, "p", "q"))
    assert ALL._replace(project_id="p").admitted([of_none, of_p, of_q]) == [of_none, of_p]
    assert ALL.admitted([of_q]) == [of_q]
