"""Which of the proposed pairs are opened for judgement, so that no program is asked about more than
it can answer.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.rules.text.keys import pair_id
from fleet_memory.schemas.comparison import ComparableLesson, Proposal

MAX_OPEN_PER_PROGRAM: Final = 12
MAX_OPEN_PER_LESSON: Final = 3
_LIMITS: Final = {"program": MAX_OPEN_PER_PROGRAM, "lesson": MAX_OPEN_PER_LESSON, "entry of": 1}

_Place: TypeAlias = tuple[str, str]  # `ComparableLesson.place`
_Sides: TypeAlias = tuple[_Place, _Place]


class KnownPairs(NamedTuple):
    """The pairs that a fleet has: the ids of all, open or closed, and the places of both sides of
    each open one.

    A place is a `ComparableLesson.place`. A pair that waits for people alone is known, but not in
    `open_sides`.
    """

    ids: frozenset[str] = frozenset()
    open_sides: tuple[_Sides, ...] = ()


def chosen(
    proposed: Iterable[Proposal],
    lessons: Sequence[ComparableLesson],
    known: KnownPairs,
    retired: Collection[str],
    asked: Mapping[str, str] = MappingProxyType({}),
) -> list[Proposal]:
    """Return the pairs to open, best rank first; `retired` are the keys of retired entries.

    `proposed` comes best rank first, equal ranks in any order, and is iterated twice. `asked` has
    the program that is asked about each entry, by key: its pairs count for that program too. With
    those of `known`, at most 12 pairs of a program and 3 of a lesson are open, and at most one of
    them pairs the lesson with an entry. A lesson near a retired entry gets that pair and no other
    until it is judged. Two entries are a pair if one of them asks a program, and not both are
    retired. A known pair is not opened again, and takes a place only if it is open.
    """
    only = _only_pairs(
        [*known.open_sides, *_with_retired(proposed, lessons, known, retired)], retired
    )
    taken = Counter(slot for sides in known.open_sides for slot in _slots(sides, asked))
    full = {
        name
        for (kind, name, _), count in taken.items()
        if kind == "program" and count >= MAX_OPEN_PER_PROGRAM
    }
    opened: dict[str, Proposal] = {}
    # Most proposals are of programs that have their pairs already: half a million in a fleet of
    # 100,000 lessons.
    programs = [lesson.program_id for lesson in lessons]
    left = (
        pair for pair in proposed if programs[pair.a] not in full and programs[pair.b] not in full
    )
    for _, tied in groupby(left, lambda proposal: proposal.rank):
        for pair in sorted(tied, key=lambda pair: sorted(_sides(pair, lessons))):
            sides, id_ = _sides(pair, lessons), _id(pair, lessons)
            slots = _slots(sides, asked)
            allowed = id_ not in known.ids and _is_useful(sides, retired, asked)
            allowed &= all(only.get(place, set(sides)) == set(sides) for place in sides)
            if (
                allowed
                and id_ not in opened
                and all(taken[slot] < _LIMITS[slot[0]] for slot in slots)
            ):
                taken.update(slots)
                full.update(
                    slot[1]
                    for slot in slots
                    if slot[0] == "program" and taken[slot] >= MAX_OPEN_PER_PROGRAM
                )
                opened[id_] = pair
    return list(opened.values())


def _with_retired(
    proposed: Iterable[Proposal],
    lessons: Sequence[ComparableLesson],
    known: KnownPairs,
    retired: Collection[str],
) -> list[_Sides]:
    """Return the sides of the pairs of a lesson and a retired entry that are not known, best
    first.
    """
    gone = (
        {at for at, lesson in enumerate(lessons) if lesson.is_entry and lesson.lesson_id in retired}
        if retired
        else set()
    )
    new = [pair for pair in proposed if pair.a in gone or pair.b in gone] if gone else []
    new.sort(key=lambda pair: (-pair.rank, sorted(_sides(pair, lessons))))
    return [_sides(pair, lessons) for pair in new if _id(pair, lessons) not in known.ids]


def _id(pair: Proposal, lessons: Sequence[ComparableLesson]) -> str:
    return pair_id(lessons[pair.a].words, lessons[pair.b].words)


def _sides(pair: Proposal, lessons: Sequence[ComparableLesson]) -> _Sides:
    return lessons[pair.a].place, lessons[pair.b].place


def _is_useful(sides: _Sides, retired: Collection[str], asked: Mapping[str, str]) -> bool:
    """Return whether a pair is worth opening: two entries are not if both are retired or no program
    can be asked.
    """
    if any(program for program, _ in sides):
        return True
    keys = [key for _, key in sides]
    return any(key not in retired for key in keys) and any(asked.get(key) for key in keys)


def _only_pairs(ranked: Iterable[_Sides], retired: Collection[str]) -> dict[_Place, set[_Place]]:
    """Return the sides of the first pair of each lesson with a retired entry."""
    only: dict[_Place, set[_Place]] = {}
    for one, other in ranked:
        for place, (program, key) in ((one, other), (other, one)):
            if place[0] and not program and key in retired:
                only.setdefault(place, {one, other})
    return only


def _slots(sides: _Sides, asked: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the limits that a pair counts for: those of its programs, its lessons, and whom its
    entry asks.
    """
    slots = []
    for (program, lesson), (other_program, _) in (sides, sides[::-1]):
        if program:
            slots += [("program", program, ""), ("lesson", program, lesson)]
        elif asked.get(lesson):
            slots.append(("program", asked[lesson], ""))
        if program and not other_program:
            slots.append(("entry of", program, lesson))
    return slots
