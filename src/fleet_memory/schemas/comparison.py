"""Lessons and entries as proposing compares them."""

from typing import NamedTuple


class ComparableLesson(NamedTuple):
    """One lesson of a program, or one entry of shared knowledge, whose `program_id` is "".

    A plain tuple, because a run may hold a hundred thousand. `lesson_id` is the pattern's id or the entry's key; `words`
    is a hash that is equal for texts of equal words.
    """

    program_id: str
    lesson_id: str
    domain: str
    text: str
    words: str
    project_id: str | None = None
