"""Which proposals are opened: the best first, as far as programs and lessons have room for questions."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from fleet_memory.rules.text.keys import pair_id
from fleet_memory.schemas.comparison import ComparableLesson, Proposal
from fleet_memory.schemas.pairs import Pair, Side

MAX_PAIRS_PER_PROGRAM: Final = 12  # pairs that ask one program; Source: docs/consensus.md, chosen
MAX_PAIRS_PER_LESSON: Final = 3  # pairs that ask about one lesson; Source: docs/consensus.md, chosen


class _Room:
    """How many pairs there are of each program and lesson, and which lessons are in a pair with an entry."""

    def __init__(self, asking: Iterable[Pair]) -> None:
        self._programs: Counter[str] = Counter()
        self._lessons: Counter[tuple[str, str]] = Counter()
        self._with_entry: set[tuple[str, str]] = set()
        for pair in asking:
            self._take(_place(pair.a), _place(pair.b))

    def take(self, a: ComparableLesson, b: ComparableLesson) -> bool:
        """Count a pair if both of its sides have room for it; whether they had."""
        places = [one.place for one in (a, b) if one.program_id]
        beside_entry = len(places) < 2
        full = any(
            self._programs[place[0]] >= MAX_PAIRS_PER_PROGRAM
            or self._lessons[place] >= MAX_PAIRS_PER_LESSON
            or (beside_entry and place in self._with_entry)
            for place in places
        )
        if not full:
            self._take(a.place, b.place)
        return not full

    def _take(self, *places: tuple[str, str]) -> None:
        lessons = [place for place in places if place[0]]
        self._programs.update(place[0] for place in lessons)
        self._lessons.update(lessons)
        if len(lessons) < len(places):
            self._with_entry.update(lessons)


def _place(side: Side) -> tuple[str, str]:
    return (side.program_id, side.pattern_id) if side.key is None else ("", side.key)


def chosen(
    lessons: Sequence[ComparableLesson],
    proposals: Sequence[Proposal],
    asking: Iterable[Pair],
    known: Collection[str],
    retired: Collection[str] = (),
) -> list[int]:
    """Return the positions of the proposals to open, best rank first; `proposals` are in that order.

    `asking` are the pairs that ask somebody already, `known` the ids of all pairs that exist: they take no place again.
    A program is asked about at most 12 pairs, about one lesson in at most 3, one of them with an entry. A lesson near an
    entry of `retired` (keys) gets that pair and no other.
    """
    room, taken = _Room(asking), set(known)
    bound = _near_retired(lessons, proposals, retired)
    order = sorted(range(len(proposals)), key=lambda at: not _is_with(lessons, proposals[at], retired))
    picked: list[int] = []
    for at in order:
        a, b = lessons[proposals[at].a], lessons[proposals[at].b]
        name = pair_id(a.words, b.words)
        free = not _is_with(lessons, proposals[at], retired) and {a.place, b.place} & bound
        if name in taken or free:
            continue
        if room.take(a, b):
            taken.add(name)
            picked.append(at)
    return sorted(picked)


def _near_retired(
    lessons: Sequence[ComparableLesson], proposals: Iterable[Proposal], retired: Collection[str]
) -> set[tuple[str, str]]:
    return {
        one.place
        for proposal in proposals
        if _is_with(lessons, proposal, retired)
        for one in (lessons[proposal.a], lessons[proposal.b])
        if not one.is_entry
    }


def _is_with(lessons: Sequence[ComparableLesson], proposal: Proposal, retired: Collection[str]) -> bool:
    return any(lessons[at].is_entry and lessons[at].lesson_id in retired for at in (proposal.a, proposal.b))
