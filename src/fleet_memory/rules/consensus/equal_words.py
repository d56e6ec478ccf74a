"""Equal words are the same, unasked: which lessons join an entry of their words, and which make one
together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.text.steering import steering_words
from fleet_memory.schemas.comparison import ComparableLesson


class EqualWords(NamedTuple):
    """Lessons of equal words: they join the entry `key`, or make one together if it is None."""

    words: str
    key: str | None
    lessons: Sequence[ComparableLesson]


def equal_words(
    wanted: Iterable[str],
    lessons: Mapping[str, Sequence[ComparableLesson]],
    entries: Mapping[str, Sequence[ComparableLesson]],
) -> list[EqualWords]:
    """Return the groups of equal words, for each hash of words in `wanted`.

    `lessons` (those in no entry) and `entries` are by their hash of words. Lessons of two projects
    do not meet; one of no project meets both an entry of any project and, where there is one
    project alone, its lessons. A new entry takes lessons of at least two programs, and none that
    gives its judge orders.
    """
    groups: list[EqualWords] = []
    # Nearly all words are those of one lesson: sorting 100,000 hashes would stop all threads.
    shared = sorted(
        words for words in set(wanted) if words in entries or len(lessons.get(words, ())) > 1
    )
    for words in shared:
        known, free = entries.get(words, ()), sorted(lessons.get(words, ()))
        joining: dict[str, list[ComparableLesson]] = {}
        left: list[ComparableLesson] = []
        for lesson in free:
            entry = next(
                (
                    entry
                    for entry in sorted(known)
                    if _may_meet(entry.project_id, lesson.project_id)
                ),
                None,
            )
            if entry is None:
                left.append(lesson)
            else:
                joining.setdefault(entry.lesson_id, []).append(lesson)
        groups += [EqualWords(words, key, members) for key, members in sorted(joining.items())]
        groups += [
            EqualWords(words, None, group) for group in _by_project(left) if _may_be_entry(group)
        ]
    return groups


def _by_project(lessons: Sequence[ComparableLesson]) -> list[list[ComparableLesson]]:
    projects = sorted({lesson.project_id for lesson in lessons if lesson.project_id is not None})
    if len(projects) <= 1:
        return [list(lessons)]
    everywhere: list[str | None] = [None, *projects]
    return [
        [lesson for lesson in lessons if lesson.project_id == project] for project in everywhere
    ]


def _may_be_entry(lessons: Sequence[ComparableLesson]) -> bool:
    return _programs(lessons) > 1 and not any(
        steering_words(text) for text in {lesson.text for lesson in lessons}
    )


def _programs(lessons: Iterable[ComparableLesson]) -> int:
    return len({same_program(lesson.program_id) for lesson in lessons})


def _may_meet(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
