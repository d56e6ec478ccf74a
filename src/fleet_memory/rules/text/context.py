"""The two vectors of a lesson, and the one that questions meet."""

from dataclasses import replace
from typing import NamedTuple

from fleet_memory.rules.text.vectors import Vectors, packed
from fleet_memory.schemas.patterns import Pattern


class LessonVectors(NamedTuple):
    """A lesson's packed vectors: that of its text, which lessons are compared by, and the one that
    questions meet.
    """

    vector: str = ""
    search_vector: str = ""


def search_vector(text: Vectors, context: Vectors, share: float, mark: str) -> str:
    """Return the marked, packed mix of the vectors of a text and, for this share, its context, each
    of length 1.
    """
    return mark + packed((1 - share) * text + share * context)


def with_search_vector(lesson: Pattern, *known: str) -> Pattern:
    """Return the lesson with its search vector, or the first of `known` that was made of what it
    has now.
    """
    for vector in known:
        if not lesson.search_vector and vector:
            lesson = replace(lesson, search_vector=vector)  # which keeps no other
    return lesson
