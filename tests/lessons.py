"""Patterns and programs for tests: a test names only the fields that it is about."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fleet_memory.rules.lifecycle.admission import SentLesson
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.patterns import NewPattern, Pattern
from fleet_memory.schemas.programs import Program

START = datetime(2026, 2, 14, 8, 23, tzinfo=UTC)


def days(count: float) -> timedelta:
    return timedelta(days=count)


def pattern(
    text: str = "Check the status before claiming",
    **fields: Any,  # noqa: ANN401 of any field; pydantic refuses a misspelt one and a wrong type
) -> Pattern:
    known = Pattern(
        id="p1",
        domain="task-claiming",
        pattern=text,
        confidence=0.8,
        discovered_at=START,
        last_reinforced=START,
        stored_at=START,
        words=text_hash(text),
    )
    return replace(known, **fields)


def new_pattern(text: str = "Check the status before claiming", **fields: object) -> NewPattern:
    known = {
        "pattern": text,
        "domain": "task-claiming",
        "confidence": 0.8,
        "evidence": "seen three times",
    }
    return NewPattern.model_validate(known | fields)


def lesson(text: str = "Check the status before claiming", **fields: object) -> SentLesson:
    return SentLesson(new_pattern(text, **fields), f"l-{text_hash(text)[:10]}")


def program(*patterns: Pattern, **fields: Any) -> Program:  # noqa: ANN401 of any field, as above
    known = Program(program_id="basher", last_update=START, patterns={p.id: p for p in patterns})
    return replace(known, **fields)
