"""Questions that a program's memory could not answer: counted by their words; the newest remain."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from fleet_memory.rules.text.keys import normalised
from fleet_memory.schemas.programs import Missing

MAX_MISSING: Final = (
    32  # questions of one program; chosen, so that they take at most a twentieth of its document
)


def distinct_questions(questions: Iterable[str]) -> dict[str, str]:
    """Return the questions by their words, stripped: of those with equal words the last, e.g. "A"
    of "a", "A ".
    """
    return {normalised(question): question.strip() for question in questions}


def with_missing(
    missing: tuple[Missing, ...], questions: Iterable[str], now: datetime
) -> tuple[Missing, ...]:
    """Return the questions with those that one session asked, the latest last.

    Questions of equal words are one, with the words that were sent last; one session counts it
    once.
    """
    asked = distinct_questions(questions)
    times = {normalised(known.text): known.times for known in missing}
    others = [known for known in missing if normalised(known.text) not in asked]
    new = [
        Missing(text=text, times=times.get(words, 0) + 1, at=now) for words, text in asked.items()
    ]
    return (*others, *new)[-MAX_MISSING:]
