"""Lessons and entries in answers: no field that is a default or implied, all of them when
explained.
"""

from dataclasses import replace

import pytest

from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.retrieval.ranking import Match, Terms
from fleet_memory.rules.text.keys import domain_of_key, knowledge_key
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.programs import Program
from fleet_memory.tools.shared import knowledge_answer, pattern_answer
from tests.lessons import START, days, pattern

PROGRAM = Program(program_id="basher")
MATCH = Match(None, 0.812, Terms(semantic=0.7, words=0.5, strength=0.8))
LONG = (
    "Look at a task again just before you claim it, since a worker may take it between "
    "your reading and your claim."
)
KEY = knowledge_key("task-claiming", LONG)
LESSON = replace(
    pattern(LONG), id="l-0123456789", domain="task-claiming", confidence=0.8, evidence=""
)
ROW = KnowledgeRow(
    key=KEY,
    pattern=LONG,
    domain="task-claiming",
    confidence=0.854,
    contributors=("basher", "iso"),
    evidence_count=2,
    last_confirmed=START,
)


def test_a_lesson_of_today_is_its_text_and_four_fields() -> None:
    assert pattern_answer(LESSON, START, PROGRAM, (), match=MATCH).wire() == {
        "id": "l-0123456789",
        "domain": "task-claiming",
        "pattern": LONG,
        "confidence": 0.8,
        "score": 0.812,
    }


def test_an_older_lesson_shows_how_it_has_changed() -> None:
    older = replace(
        LESSON, evidence="Lost an hour", confirmations=2, tags=("queue",), project_id="harbor"
    )
    assert pattern_answer(older, START + days(100.9), PROGRAM, ()).wire() == {
        "id": LESSON.id,
        "domain": "task-claiming",
        "pattern": LONG,
        "evidence": "Lost an hour",
        "confidence": 0.8,
        "strength": 0.08,
        "stale": True,
        "ageDays": 100,
        "reinforcements": 2,
        "projectId": "harbor",
        "tags": ["queue"],
    }


def test_a_contributing_lesson_shows_its_key_or_else_that_it_votes() -> None:
    of_its_own = replace(LESSON, knowledge_keys=(KEY,))
    assert pattern_answer(of_its_own, START, PROGRAM, ()).wire().get("knowledgeKey") == KEY
    assert "promotedToStore" not in pattern_answer(of_its_own, START, PROGRAM, ()).wire()
    of_another = replace(LESSON, knowledge_keys=("pattern/tasks/check-first",))
    unread = pattern_answer(of_another, START, PROGRAM, ()).wire()
    assert (unread.get("knowledgeKey"), unread.get("promotedToStore")) == (None, True)


def test_an_explained_lesson_has_every_field() -> None:
    assert pattern_answer(LESSON, START, PROGRAM, (), match=MATCH, explain=True).wire() == {
        "id": LESSON.id,
        "domain": "task-claiming",
        "pattern": LONG,
        "evidence": "",
        "confidence": 0.8,
        "strength": 0.8,
        "stale": False,
        "ageDays": 0,
        "discoveredAt": "2026-02-14T08:23:00Z",
        "lastReinforced": "2026-02-14T08:23:00Z",
        "reinforcements": 0,
        "promotedToStore": False,
        "score": 0.812,
        "explain": {"semantic": 0.7, "words": 0.5, "strength": 0.8},
    }


def test_a_fresh_entry_is_its_text_its_key_and_two_numbers() -> None:
    assert knowledge_answer(ROW, START).wire() == {
        "key": KEY,
        "pattern": LONG,
        "confidence": 0.85,
        "contributorCount": 2,
    }


def test_an_entry_shows_how_it_differs_from_a_fresh_one() -> None:
    other = replace(
        ROW, key="house/claims", evidence_count=1, state="contested", project_id="harbor"
    )
    assert knowledge_answer(other, START, own=True, contributors=True).wire() == {
        "key": "house/claims",
        "pattern": LONG,
        "domain": "task-claiming",
        "confidence": 0.85,
        "contributorCount": 2,
        "contributors": ["basher", "iso"],
        "evidenceCount": 1,
        "lastConfirmed": "2026-02-14T08:23:00Z",
        "status": "contested",
        "own": True,
        "projectId": "harbor",
    }


def test_a_lesson_of_110_characters_takes_at_most_230_bytes_and_an_entry_with_a_score_250() -> None:
    assert len(LONG) == 110
    assert size(pattern_answer(LESSON, START, PROGRAM, (), match=MATCH).wire()) <= 230
    assert size(knowledge_answer(ROW, START, match=MATCH).wire()) <= 250
    assert size(knowledge_answer(ROW, START).wire()) <= 230


@pytest.mark.parametrize(
    ("key", "domain"),
    [
        ("pattern/tasks/check-first", "tasks"),
        ("pattern/infra/db/check-first", "infra/db"),
        ("pattern/tasks/check-first-2ab3cd", "tasks"),
        ("house/claims", ""),
        ("pattern/claims", ""),
    ],
)
def test_a_key_names_its_domain_unless_people_chose_it(key: str, domain: str) -> None:
    assert domain_of_key(key) == domain
