"""Filters: what recall and search admit, one condition at a time."""

from dataclasses import replace
from typing import Any

from fleet_memory.rules.retrieval.filters import RecallFilters, SearchFilters
from fleet_memory.schemas.knowledge import KnowledgeRow
from tests.lessons import START, days, pattern, program

ALL = RecallFilters(domain=None, project_id=None, tags=(), min_confidence=0.0, include_stale=False)
ANY = SearchFilters(domain=None, tier=None, status=None, min_confidence=0.0)
ROW = KnowledgeRow(key="pattern/d/x", pattern="x", domain="d", confidence=0.5, last_confirmed=START)


def test_recall_admits_a_lesson_that_meets_every_condition() -> None:
    lesson = pattern(domain="d", project_id="p", tags=("a", "b"), confidence=0.5, last_reinforced=START)
    mine = program(lesson)
    exact = RecallFilters(domain="d", project_id="p", tags=("b",), min_confidence=0.5, include_stale=False)
    assert ALL.admit(lesson, mine, START)
    assert exact.admit(lesson, mine, START)
    others: list[dict[str, Any]] = [{"domain": "e"}, {"project_id": "q"}, {"tags": ("c",)}, {"min_confidence": 0.6}]
    assert [other for other in others if exact._replace(**other).admit(lesson, mine, START)] == []
    assert not ALL.admit(lesson, mine, START + days(91))
    assert ALL._replace(include_stale=True).admit(lesson, mine, START + days(91))


def test_recall_admits_entries_in_use_that_have_no_tags() -> None:
    assert ALL.admit_entry(ROW)
    assert not ALL.admit_entry(replace(ROW, state="retired"))
    assert not ALL.admit_entry(replace(ROW, state="candidate"))
    others: list[dict[str, Any]] = [{"domain": "e"}, {"tags": ("a",)}, {"min_confidence": 0.6}]
    assert [other for other in others if ALL._replace(**other).admit_entry(ROW)] == []


def test_recall_for_a_project_admits_entries_of_it_and_of_none() -> None:
    asked = ALL._replace(project_id="p")
    assert [asked.admit_entry(replace(ROW, project_id=name)) for name in (None, "p", "q")] == [True, True, False]
    assert ALL.admit_entry(replace(ROW, project_id="q"))


def test_search_finds_retired_entries_only_when_asked_for_them() -> None:
    retired, contested = replace(ROW, state="retired"), replace(ROW, state="contested")
    assert [ANY.admit(row, START) for row in (ROW, contested, retired)] == [True, True, False]
    asked = ANY._replace(status="retired")
    assert [asked.admit(row, START) for row in (ROW, contested, retired)] == [False, False, True]
    assert not asked.admit(replace(retired, never_published=True), START)
    others: list[dict[str, Any]] = [
        {"domain": "e"},
        {"tier": "constitutional"},
        {"status": "verify"},
        {"min_confidence": 0.6},
    ]
    assert [other for other in others if ANY._replace(**other).admit(ROW, START)] == []
