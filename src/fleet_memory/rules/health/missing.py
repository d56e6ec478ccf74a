"""Questions that the memory of a fleet could not answer, of all programs together."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.guard.steering import speaks_to_reader
from fleet_memory.rules.text.counting import counted
from fleet_memory.rules.text.normalisation import normalised
from fleet_memory.schemas.health import MissingQuestion
from fleet_memory.schemas.programs import Missing

_MAX_QUOTED_CHARS: Final = (
    60  # of a question in the advice, so that the least budget suffices; `missing` has it whole
)


class _Asked(NamedTuple):
    question: MissingQuestion
    at: datetime


def commonest_questions(asked_by_program: Iterable[Iterable[Missing]]) -> list[MissingQuestion]:
    """Return the questions of all programs, those of equal words as one, the commonest first, then
    the newest.

    Each has the words that were asked last, how often sessions asked it, and how many programs did.
    """
    groups: dict[str, _Asked] = {}
    for program in asked_by_program:
        for question in program:
            words = normalised(question.text)
            known = groups.get(
                words, _Asked(MissingQuestion(text=question.text, times=0, programs=0), question.at)
            )
            newest = max(
                known, _Asked(replace(known.question, text=question.text), question.at), key=_newest
            )
            counts = replace(
                newest.question,
                times=known.question.times + question.times,
                programs=known.question.programs + 1,
            )
            groups[words] = _Asked(counts, newest.at)
    ordered = sorted(
        groups.values(),
        key=lambda asked: (-asked.question.times, -asked.at.timestamp(), asked.question.text),
    )
    return [asked.question for asked in ordered]


def missing_advice(questions: Iterable[MissingQuestion]) -> tuple[str, ...]:
    """Return the line about the commonest question that does not speak to its reader; none without
    one.

    Advice is read as ours: the question is quoted as JSON text, at most 60 characters of it.
    """
    first = next((question for question in questions if not speaks_to_reader(question.text)), None)
    if first is None:
        return ()
    text = (
        first.text
        if len(first.text) <= _MAX_QUOTED_CHARS
        else f"{first.text[: _MAX_QUOTED_CHARS - 1]}…"
    )
    asked = f"{counted(first.times, 'session')} of {counted(first.programs, 'program')}"
    quoted = json.dumps(text, ensure_ascii=False)
    return (
        f"Memory could not answer {quoted}, asked in {asked} (see missing): an agent that "
        "knows calls store_memory.",
    )


def _newest(asked: _Asked) -> tuple[datetime, str]:
    return asked.at, asked.question.text
