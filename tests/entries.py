"""Entries, contributions, words and pairs for tests of rules: a test names only the fields that it
is about.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from fleet_memory.rules.entries import JoiningLesson
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import (
    Contribution,
    Decision,
    Entry,
    EntryValue,
    Publication,
    Word,
)
from fleet_memory.schemas.pairs import Judgement, Pair, Side, Verdict
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.programs import Program
from tests.lessons import START, days, pattern

KEY = "pattern/task-claiming/check-status-before-claiming"
CHECK = "Check the status before claiming"
LOOK = "Look whether a task is free before you claim it"
BOTH = ("basher", "sark")
WORD_AT = START + days(2)


def contribution(
    program_id: str,
    text: str = CHECK,
    **fields: Any,  # noqa: ANN401 of any field; pydantic refuses others
) -> Contribution:
    known = Contribution(
        program_id=program_id,
        pattern_id="p1",
        pattern=text,
        confidence=0.8,
        evidence=f"{program_id} saw it fail",
        discovered_at=START,
        similarity=1.0,
        stored_at=START,
    )
    return replace(known, **fields)


def entry(
    *lines: Contribution | str,
    **fields: Any,  # noqa: ANN401 of any field; pydantic refuses others
) -> Entry:
    """Return an entry of these contributions, or of these programs', that was published a day after
    they were.
    """
    provenance = tuple(contribution(line) if isinstance(line, str) else line for line in lines)
    known = Entry(
        key=KEY,
        value=EntryValue(
            pattern=CHECK,
            domain="task-claiming",
            confidence=0.8,
            contributors=tuple(sorted({line.program_id for line in provenance})),
            evidence_count=len(provenance),
            first_discovered=START,
            last_promoted=START + days(1),
        ),
        provenance=provenance,
        publications=published_at(START + days(1)),
        last_confirmed=START + days(1),
    )
    return replace(known, **fields)


def published_at(at: datetime) -> tuple[Publication, ...]:
    return (Publication(at=at, threshold=2, tried=1),)


def retired_at(at: datetime) -> tuple[Decision, ...]:
    return (Decision(kind="retired", at=at, by="people"),)


def candidate(*lines: Contribution | str, words: Sequence[Word] = ()) -> Entry:
    """Return an entry that was never published."""
    return entry(*lines, publications=(), words=tuple(words))


def word(
    program_id: str,
    outcome: Outcome = "contradicted",
    at: datetime = WORD_AT,
    **fields: Any,  # noqa: ANN401 of any field; pydantic refuses others
) -> Word:
    return replace(
        Word(program_id=program_id, outcome=outcome, at=at, evidence="it failed again"), **fields
    )


def joining(
    program_id: str,
    text: str = CHECK,
    **fields: Any,  # noqa: ANN401 of any field of a lesson; pydantic refuses others
) -> JoiningLesson:
    """Return a lesson that joins an entry."""
    known = pattern(text, evidence=f"{program_id} saw it fail")
    lesson = replace(known, **fields)
    lesson = replace(lesson, words=text_hash(lesson.pattern))
    program = Program(program_id=program_id, patterns={lesson.id: lesson})
    return JoiningLesson(program, lesson, similarity=0.7)


def side(program_id: str, text: str, *, key: str | None = None, pattern_id: str = "p1") -> Side:
    return Side(
        program_id=program_id,
        pattern_id="" if key else pattern_id,
        key=key,
        domain="task-claiming",
        text=text,
    )


def pair(
    a: Side | None = None,
    b: Side | None = None,
    **fields: Any,  # noqa: ANN401 of any field; pydantic refuses others
) -> Pair:
    """Return an open pair, by default of the lessons of basher and sark."""
    one, other = a or side("basher", CHECK), b or side("sark", LOOK)
    known = Pair(
        pair_id=pair_id(text_hash(one.text), text_hash(other.text)),
        a=one,
        b=other,
        cosine=0.7,
        margin=0.5,
        opened_at=START,
    )
    return replace(known, **fields)


def judgement(
    program_id: str | None,
    verdict: Verdict = "same",
    **fields: Any,  # noqa: ANN401 of any field; pydantic refuses others
) -> Judgement:
    return replace(Judgement(verdict=verdict, program_id=program_id, at=START + days(1)), **fields)
