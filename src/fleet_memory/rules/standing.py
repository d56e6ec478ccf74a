"""What an entry stands for: lessons of equal words join it unasked, and pairs that wait go on about
it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.entries import origin_of
from fleet_memory.rules.pairs import FOUND_BY_MODEL, closed, with_silence
from fleet_memory.rules.text import first_sentences
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.schemas.pairs import Pair, Side


def is_free(
    lesson: ComparableLesson, beside: Collection[str | None], projects: Mapping[str, str | None]
) -> bool:
    """Whether no entry stands for a lesson beside texts of these projects; `projects` are those of
    the entries by key.

    A lesson of a project is in one entry, one of none in one of each project and one of none.
    """
    if lesson.project_id is not None:
        return not lesson.knowledge_keys
    return not any(key in projects and projects[key] in beside for key in lesson.knowledge_keys)


class EqualWords(NamedTuple):
    """Lessons of equal words: they join the entry `key`, or make one of the project together if it
    is None.
    """

    words: str
    project_id: str | None
    key: str | None
    lessons: Sequence[ComparableLesson]


def equal_words(
    wanted: Collection[str],
    lessons: Iterable[ComparableLesson],
    entries: Collection[ComparableLesson],
) -> list[EqualWords]:
    """Return the groups of equal words, for each hash of words in `wanted`.

    A lesson joins the entry of its project, else that of none. A new entry takes lessons of at
    least two origins, one of them of its project. A lesson that gives its judge orders joins none,
    unless people allowed it.
    """
    told, known = _by_words(wanted, lessons), _by_words(wanted, entries)
    all_projects = {entry.lesson_id: entry.project_id for entry in entries}
    groups: list[EqualWords] = []
    for words in sorted(told):
        if words not in known and len(told[words]) == 1:
            continue
        may_join = [lesson for lesson in sorted(told[words]) if not orders_of(lesson)]
        keys = {entry.project_id: entry.lesson_id for entry in sorted(known.get(words, ()))[::-1]}
        projects = {None, *keys, *(lesson.project_id for lesson in may_join)}
        for project in sorted(projects, key=lambda name: name or ""):
            own = [
                lesson
                for lesson in may_join
                if is_free(lesson, {project}, all_projects)
                and (
                    lesson.project_id in (project, None)
                    or (project is None in keys and lesson.project_id not in keys)
                )
            ]
            if own and (project in keys or _may_be_entry(own, project)):
                groups.append(EqualWords(words, project, keys.get(project), own))
    return groups


def _by_words(
    wanted: Collection[str], lessons: Iterable[ComparableLesson]
) -> dict[str, list[ComparableLesson]]:
    found: dict[str, list[ComparableLesson]] = {}
    for lesson in lessons:
        if lesson.words in wanted:
            found.setdefault(lesson.words, []).append(lesson)
    return found


def _may_be_entry(lessons: Sequence[ComparableLesson], project: str | None) -> bool:
    origins = {origin_of(lesson.program_id) for lesson in lessons}
    return len(origins) > 1 and any(lesson.project_id == project for lesson in lessons)


def orders_of(lesson: ComparableLesson) -> str:
    """Return the words by which a lesson gives its judge orders, "" for none or where people
    allowed it.
    """
    if lesson.allowed:
        return ""
    return lesson_steering(lesson.text, lesson.evidence, lesson.domain) or ""


def side_of(lesson: ComparableLesson) -> Side:
    """Return a lesson or an entry as the side of a pair."""
    return Side(
        program_id=lesson.program_id or lesson.asked,
        pattern_id="" if lesson.is_entry else lesson.lesson_id,
        key=lesson.lesson_id if lesson.is_entry else None,
        domain=lesson.domain,
        text=lesson.text,
        evidence=first_sentences(lesson.evidence),
        project_id=lesson.project_id,
    )


def renewed(
    pair: Pair,
    lessons: Mapping[tuple[str, str], ComparableLesson],
    entries: Mapping[str, ComparableLesson],
    now: datetime,
) -> Pair:
    """Return a pair that somebody is asked about as it is now: about the entries that stand for its
    lessons, `gone` where a text is, and with the silence of stale lessons and late answers.

    `lessons` are all of the fleet by place. It is the same object when nothing changed.
    """
    project = pair.a.project_id or pair.b.project_id
    stays = pair.state == "contradict"  # the other author is asked, whatever its lesson is in
    a, b = (_side_now(side, project, lessons, entries, stays=stays) for side in (pair.a, pair.b))
    if a is None or b is None or (a.key is not None and a.key == b.key):
        return closed(pair)
    if (a, b) != (pair.a, pair.b):
        pair = replace(pair, a=a, b=b)
    own = [lessons.get((side.program_id, side.pattern_id)) for side in (a, b)]
    is_for_people = pair.steering == FOUND_BY_MODEL or any(map(orders_of, filter(None, own)))
    if pair.steering and not is_for_people:
        pair = replace(pair, steering="")
    for lesson in filter(None, own):
        if lesson.stale_at < now.timestamp():
            pair = with_silence(pair, now, lesson.program_id)
    return with_silence(pair, now)


def _side_now(
    side: Side,
    project: str | None,
    lessons: Mapping[tuple[str, str], ComparableLesson],
    entries: Mapping[str, ComparableLesson],
    *,
    stays: bool,
) -> Side | None:
    """Return the side of a pair of a project as it is now, None for a text that is gone; `stays`:
    one whose lesson is in an entry of other words is still a side.
    """
    words = text_hash(side.text)
    if side.key is not None:
        entry = entries.get(side.key)
        if entry is None or entry.words != words:
            return None
        return side if entry.asked == side.program_id else replace(side, program_id=entry.asked)
    lesson = lessons.get((side.program_id, side.pattern_id))
    if lesson is None or words not in (lesson.words, *lesson.earlier):
        return None
    for key in lesson.knowledge_keys:
        entry = entries.get(key)
        if entry and (lesson.project_id is not None or entry.project_id in (project, None)):
            is_text = entry.words == words
            return side_of(entry) if is_text else side if stays else None
    return side
