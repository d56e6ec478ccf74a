"""Which pairs of lessons a reader should judge: the best partners of each new lesson among those of
other origins, compared exactly and in blocks, and which of these are opened; lessons of equal
words, which meet unasked; and pairs that wait, as they are now.

A pair counts by its margin: its cosine less half the best rival's, because no cosine tells a
rewording from a rival (docs/decisions/least-margin.md). A rival is another lesson of either side's
origin; of an entry, another entry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fleet_memory.rules.entries import origin_of
from fleet_memory.rules.pairs import FOUND_BY_MODEL, closed, with_silence
from fleet_memory.rules.text import first_sentences
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.rules.text.vectors import Vectors, int8_rows, np
from fleet_memory.schemas.comparison import ComparableLesson, Profile, Proposal
from fleet_memory.schemas.pairs import Pair, Side

if TYPE_CHECKING:
    from numpy.typing import NDArray


Indices: TypeAlias = "NDArray[np.int64]"
Flags: TypeAlias = "NDArray[np.bool_]"
Place: TypeAlias = tuple[str, str]  # `ComparableLesson.place`

MAX_PARTNERS: Final = 3  # pairs that one lesson proposes; other lessons may propose more with it
BLOCK_LESSONS: Final = 512  # lessons that are compared with all others at once: 41 MB of 20,000


class Comparison:
    """n lessons in order of origin and place, ready to be compared; an index is a place in this
    order.

    `rows` is n×d whole numbers, so that a cosine does not depend on its block; `scales` are inverse
    lengths, 0 for a row of zeros. `origins`, `projects` (0: none) and `words` are codes; the
    lessons of origin c are `starts[c]` up to `starts[c + 1]`.
    """

    def __init__(
        self, lessons: Iterable[ComparableLesson], embedder: str, profile: Profile
    ) -> None:
        every = list(lessons)
        origins = {
            name: (name != "", origin_of(name)) for name in {each.program_id for each in every}
        }
        every.sort(key=lambda lesson: (origins[lesson.program_id], lesson.place))
        self.lessons, self.profile = every, profile
        vectors = ((lesson.vector, lesson.embedder) for lesson in every)
        self.rows: Vectors = int8_rows(vectors, embedder).astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows))
        self.scales = np.divide(
            np.float32(1), lengths, out=np.zeros_like(lengths), where=lengths > 0
        )
        self.origins = _codes(origins[lesson.program_id] for lesson in every)
        self.starts = np.flatnonzero(np.diff(self.origins, prepend=-1, append=-1))
        self.projects = _codes(["", *(lesson.project_id or "" for lesson in every)])[1:]
        self.words = _codes(lesson.words for lesson in every)
        self.is_entry = np.array([lesson.is_entry for lesson in every], np.bool_)

    def blocks(self, wanted: Collection[Place]) -> list[Indices]:
        """Return the wanted lessons that have a vector, in blocks."""
        asked = np.array([lesson.place in wanted for lesson in self.lessons], np.bool_)
        at = np.flatnonzero(asked & (self.scales > 0))
        return [at[start : start + BLOCK_LESSONS] for start in range(0, len(at), BLOCK_LESSONS)]

    def partners(self, block: Indices) -> list[Proposal]:
        """Return the best pairs of each lesson of a block."""
        floor, least = np.float32(self.profile.floor), self.profile.review
        cosines = self._cosines(block, slice(None))
        cosines[np.arange(len(block)), block] = -1
        near = np.flatnonzero(cosines >= least + 0.5 * floor)
        rows, partners = np.divmod(near, len(self.rows))
        may = self._may_meet(block[rows], partners)
        rows, partners = rows[may], partners[may]
        found = cosines[rows, partners]
        rivals = np.maximum(floor, self._rivals_of_partners(cosines, rows, partners))
        ample = np.flatnonzero(found - np.float32(0.5) * rivals >= least)
        lessons, partners, found = block[rows[ample]], partners[ample], found[ample]
        rivals = np.maximum(rivals[ample], self._rivals_of_lessons(lessons, partners))
        margins = found - np.float32(0.5) * rivals
        order = np.lexsort((partners, -margins, lessons))
        order = order[margins[order] >= least]
        place = np.arange(len(order)) - np.searchsorted(lessons[order], lessons[order])
        best = order[place < MAX_PARTNERS]
        ends = np.sort(np.stack([lessons[best], partners[best]], axis=1), axis=1)
        scores = np.stack([found[best], margins[best]], axis=1).astype(np.float64).round(4)
        return [
            Proposal(self.lessons[a], self.lessons[b], cosine, margin)
            for (a, b), (cosine, margin) in zip(ends.tolist(), scores.tolist(), strict=True)
        ]

    def _cosines(self, ones: Indices, others: slice) -> Vectors:
        dots: Vectors = self.rows[ones] @ self.rows[others].T
        dots *= np.multiply.outer(self.scales[ones], self.scales[others])
        return dots

    def _may_meet(self, ones: Indices, others: Indices) -> Flags:
        """Return whether each two differ in words and, but for entries, in origin, and may share a
        project.
        """
        left, right = self.projects[ones], self.projects[others]
        allowed: Flags = (left == right) | (left == 0) | (right == 0)
        allowed &= (self.origins[ones] != self.origins[others]) | self.is_entry[ones]
        allowed &= self.words[ones] != self.words[others]
        return allowed

    def _rivals_of_partners(self, cosines: Vectors, rows: Indices, partners: Indices) -> Vectors:
        """Return for m pairs the cosine of the lesson to the best other of its partner's origin.

        `cosines` is b×n and is changed.
        """
        origins = self.origins[partners]
        rivals: Vectors = np.maximum.reduceat(cosines, self.starts[:-1], axis=1)[rows, origins]
        best = np.flatnonzero(cosines[rows, partners] >= rivals)
        # one of several best is masked; it and each other have the same rival
        _, first = np.unique(rows[best] * len(self.starts) + origins[best], return_index=True)
        cosines[rows[best[first]], partners[best[first]]] = -1
        seconds = np.maximum.reduceat(cosines, self.starts[:-1], axis=1)
        rivals[best] = seconds[rows[best], origins[best]]
        return rivals

    def _rivals_of_lessons(self, lessons: Indices, partners: Indices) -> Vectors:
        """Return for m pairs the cosine of the partner to the best other of the lesson's origin."""
        rivals = np.empty(len(lessons), np.float32)
        for origin in np.unique(self.origins[lessons]).tolist():
            own = slice(self.starts[origin], self.starts[origin + 1])
            group = np.flatnonzero(self.origins[lessons] == origin)
            for some in np.array_split(group, len(group) // BLOCK_LESSONS + 1):
                cosines = self._cosines(partners[some], own)
                for ends in (lessons[some], partners[some]):  # two entries are of one origin
                    inside = np.flatnonzero(self.origins[ends] == origin)
                    cosines[inside, ends[inside] - own.start] = -1
                rivals[some] = cosines.max(axis=1)
        return rivals


def _codes(names: Iterable[Hashable]) -> Indices:
    """Return a number for each name, from 0 in order of first appearance."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


# Choosing

MAX_OPEN_PER_PROGRAM: Final = 12
MAX_OPEN_PER_LESSON: Final = 3


def chosen(
    proposed: Sequence[Proposal],
    known: Collection[str],
    open_sides: Iterable[tuple[Place, Place]],
) -> list[Proposal]:
    """Return the pairs to open, best margin first; of equal ones the first proposed.

    `known` are the ids of pairs that are not opened again, `open_sides` the places of those that
    ask somebody: with these at most 12 pairs of a program and 3 of a lesson are open.
    """
    programs, lessons = Counter[str](), Counter[Place]()
    for sides in open_sides:
        programs.update(program for program, _ in sides)
        lessons.update(sides)
    opened: dict[str, Proposal] = {}
    order = np.argsort([-pair.margin for pair in proposed], kind="stable").tolist()
    for pair in map(proposed.__getitem__, order):
        places = [lesson.place for lesson in (pair.a, pair.b) if not lesson.is_entry]
        if any(
            programs[place[0]] >= MAX_OPEN_PER_PROGRAM or lessons[place] >= MAX_OPEN_PER_LESSON
            for place in places
        ):
            continue
        id_ = pair_id(pair.a.words, pair.b.words)
        if id_ not in known and id_ not in opened:
            opened[id_] = pair
            programs.update(program for program, _ in places)
            lessons.update(places)
    return list(opened.values())


# Equal words, and pairs that wait


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
    told = defaultdict[str, list[ComparableLesson]](list)
    for lesson in lessons:
        if lesson.words in wanted:
            told[lesson.words].append(lesson)
    known = defaultdict[str, dict[str | None, str]](dict)
    for entry in sorted(entries, reverse=True):
        known[entry.words][entry.project_id] = entry.lesson_id
    all_projects = {entry.lesson_id: entry.project_id for entry in entries}
    groups: list[EqualWords] = []
    for words in sorted(told):
        if words not in known and len(told[words]) == 1:
            continue
        may_join = [lesson for lesson in sorted(told[words]) if not orders_of(lesson)]
        keys = known[words]
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
