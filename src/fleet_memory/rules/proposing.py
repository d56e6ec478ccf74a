"""Which pairs of lessons a reader should judge: the best partners of each lesson in other programs,
over all domains, compared exactly and in blocks; and which of these are opened.

A partner is ranked by its margin: the cosine less half of the best rival's, because no cosine tells
a rewording from a rival (docs/decisions/least-margin.md).

Equal words are the same, unasked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fleet_memory.arrays import np
from fleet_memory.rules.entries import same_program
from fleet_memory.rules.text.keys import pair_id
from fleet_memory.rules.text.steering import steering_words
from fleet_memory.rules.text.tokens import content
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import ComparableLesson, Profile, Proposal

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


Indices: TypeAlias = "NDArray[np.int64]"
Int8Rows: TypeAlias = "NDArray[np.int8]"
Flags: TypeAlias = "NDArray[np.bool_]"

MAX_PARTNERS: Final = 8  # pairs that one lesson proposes; other lessons may propose more with it
BLOCK_LESSONS: Final = 512  # lessons that are compared with all others at once: 41 MB of 20,000
SHARED_WORDS_WEIGHT: Final = 0.1  # of a rank; docs/consensus.md


class PairColumns(NamedTuple):
    """m pairs: places of a lesson and of its partner, their cosines, and the best rivals'."""

    lessons: Indices
    partners: Indices
    cosines: Vectors
    rivals: Vectors

    def where(self, chosen: Flags | Indices) -> PairColumns:
        """Return some of the pairs, or all in another order."""
        return PairColumns(
            self.lessons[chosen], self.partners[chosen], self.cosines[chosen], self.rivals[chosen]
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """n lessons sorted by program and id, ready to be compared; an index is a place in this order.

    `rows` is n×d whole numbers, so that a cosine does not depend on the block in which it is
    computed. `scales` are inverse lengths, 0 for a row of zeros. `programs`, `projects` (0: none)
    and `words` are codes; the lessons of program c are `starts[c]` up to `starts[c + 1]`, and
    `variants[c]` is m×m for its m lessons, None for the entries of shared knowledge.
    """

    lessons: Sequence[ComparableLesson]
    positions: Indices
    rows: Vectors
    scales: Vectors
    programs: Indices
    projects: Indices
    words: Indices
    starts: Indices
    variants: Sequence[Flags | None]
    profile: Profile

    def partners(self, block: Indices) -> PairColumns:
        """Return the best partners of the lessons of a block, best first.

        A lesson's rivals are the lessons of its program that are no variants of it; an entry's are
        all other entries.
        """
        cosines = self._cosines(block, slice(None))
        least = self.profile.review + 0.5 * self.profile.floor  # a rival counts for the floor
        near = np.flatnonzero(cosines >= least)
        rows, partners = np.divmod(near, len(self.rows))
        may = self._may_meet(block[rows], partners)
        rows, partners = rows[may], partners[may]
        floors = np.full(len(rows), self.profile.floor, np.float32)
        pairs = PairColumns(block[rows], partners, cosines[rows, partners], floors)
        for program, some in self._by_program(partners):
            own = slice(self.starts[program], self.starts[program + 1])
            self._raise_rivals(pairs, some, program, cosines[rows[some], own], flip=True)
        pairs = pairs.where(_margins(pairs) >= self.profile.review)
        for program, some in self._by_program(pairs.lessons):
            own = slice(self.starts[program], self.starts[program + 1])
            others, at = np.unique(pairs.partners[some], return_inverse=True)
            self._raise_rivals(pairs, some, program, self._cosines(others, own)[at], flip=False)
        pairs = pairs.where(_margins(pairs) >= self.profile.review)
        pairs = pairs.where(np.lexsort((pairs.partners, -_margins(pairs), pairs.lessons)))
        firsts = np.searchsorted(pairs.lessons, pairs.lessons)
        return pairs.where(np.arange(len(firsts)) - firsts < MAX_PARTNERS)

    def ranked(self, parts: Sequence[PairColumns]) -> list[Proposal]:
        """Return the partners of all blocks as proposals, each pair once, best rank first."""
        if not parts:
            return []
        every = PairColumns(*map(np.concatenate, zip(*parts, strict=True)))
        low, high = np.sort(np.stack([every.lessons, every.partners]), axis=0)
        once = np.unique(low << 32 | high, return_index=True)[1]
        pairs = every.where(once)
        ends = self.positions[np.stack([low[once], high[once]], axis=1)]
        margins = _margins(pairs)
        ranks = _rounded(margins + np.float32(SHARED_WORDS_WEIGHT) * self._shared_words(ends))
        order = np.lexsort((high[once], low[once], -ranks))
        scores = (*map(_rounded, (pairs.cosines, pairs.rivals, margins)), ranks)
        ends.sort(axis=1)
        columns = (*ends[order].T.tolist(), *(column[order].tolist() for column in scores))
        return [Proposal(*row) for row in zip(*columns, strict=True)]

    def _cosines(self, ones: Indices, others: slice) -> Vectors:
        dots: Vectors = self.rows[ones] @ self.rows[others].T
        dots *= np.multiply.outer(self.scales[ones], self.scales[others])
        return dots

    def _may_meet(self, ones: Indices, others: Indices) -> Flags:
        """Return whether each two differ in words and, but for entries, in program, and may share a
        project.
        """
        left, right = self.projects[ones], self.projects[others]
        entries = np.array([table is None for table in self.variants], np.bool_)
        same = self.programs[ones] == self.programs[others]
        allowed: Flags = (left == right) | (left == 0) | (right == 0)
        allowed &= ~same | (entries[self.programs[ones]] & (ones != others))
        allowed &= self.words[ones] != self.words[others]
        return allowed

    def _by_program(self, lessons: Indices) -> Iterator[tuple[int, Indices]]:
        """Yield each program of lessons with the indices of its lessons in them, 512 at a time."""
        programs = self.programs[lessons]
        order = np.argsort(programs, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(programs[order])) + 1):
            for start in range(0, len(group), BLOCK_LESSONS):
                some = group[start : start + BLOCK_LESSONS]
                yield int(programs[some[0]]), some

    def _raise_rivals(
        self, pairs: PairColumns, some: Indices, program: int, cosines: Vectors, *, flip: bool
    ) -> None:
        """Raise the rivals of some pairs to the best of a program's m lessons, k×m `cosines`."""
        lessons, others = pairs.lessons[some], pairs.partners[some]
        if flip:
            lessons, others = others, lessons
        start, variants = self.starts[program], self.variants[program]
        if variants is not None:
            cosines[variants[lessons - start]] = 0
        else:
            rows = np.arange(len(some))
            cosines[rows, lessons - start] = 0
            inside = self.programs[others] == program
            cosines[rows[inside], others[inside] - start] = 0
        pairs.rivals[some] = np.maximum(pairs.rivals[some], cosines.max(1))

    def _shared_words(self, ends: Indices) -> Vectors:
        """Return for m×2 positions which share of the shorter text's content words both have."""
        words = {at: content(self.lessons[at].text) for at in np.unique(ends).tolist()}
        shares = [
            len(words[a] & words[b]) / max(1, min(len(words[a]), len(words[b])))
            for a, b in ends.tolist()
        ]
        return np.array(shares, np.float32)


def comparison(
    lessons: Sequence[ComparableLesson], vectors: Int8Rows, profile: Profile
) -> Comparison:
    """Return lessons ready to be compared; `vectors` is n×d, zeros without a comparable vector."""
    names = {name: same_program(name) for name in {lesson.program_id for lesson in lessons}}
    keys = [(names[lesson.program_id], lesson.place) for lesson in lessons]
    positions = np.array(sorted(range(len(lessons)), key=keys.__getitem__), np.int64)
    ordered = [lessons[at] for at in positions]
    rows = vectors[positions].astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    scales = np.divide(np.float32(1), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    programs = _codes(names[lesson.program_id] for lesson in ordered)
    starts = np.searchsorted(programs, np.arange(int(programs.max(initial=-1)) + 2))
    variants: list[Flags | None] = []
    for start, end in pairwise(starts.tolist()):
        own = slice(start, end)
        if ordered[start].is_entry:
            variants.append(None)
            continue
        table = rows[own] @ rows[own].T * np.multiply.outer(scales[own], scales[own])
        variants.append((table >= profile.variant) | np.eye(end - start, dtype=np.bool_))
    return Comparison(
        lessons,
        positions,
        rows,
        scales,
        programs,
        _codes(["", *(lesson.project_id or "" for lesson in ordered)])[1:],
        _codes(lesson.words for lesson in ordered),
        starts,
        variants,
        profile,
    )


def blocks(compared: Comparison, wanted: Collection[int]) -> list[Indices]:
    """Return the places of the wanted positions that have a vector, in blocks."""
    asked = np.zeros(len(compared.lessons), np.bool_)
    asked[list(wanted)] = True
    places = np.flatnonzero(asked[compared.positions] & (compared.scales > 0))
    return [places[at : at + BLOCK_LESSONS] for at in range(0, len(places), BLOCK_LESSONS)]


def proposals(
    lessons: Sequence[ComparableLesson],
    vectors: Int8Rows,
    wanted: Collection[int],
    profile: Profile,
) -> list[Proposal]:
    """Return the pairs to judge of the `wanted` positions in `lessons`, best rank first.

    A lesson proposes its `MAX_PARTNERS` best partners by margin, at least `profile.review`: lessons
    of other programs, and entries, in other words, of the same project or where either has none; an
    entry proposes other entries too.
    """
    compared = comparison(lessons, vectors, profile)
    return compared.ranked([compared.partners(block) for block in blocks(compared, wanted)])


def _margins(pairs: PairColumns) -> Vectors:
    margins: Vectors = pairs.cosines - np.float32(0.5) * pairs.rivals
    return margins


def _rounded(scores: Vectors) -> NDArray[np.float64]:
    return scores.astype(np.float64).round(4)


def _codes(names: Iterable[str]) -> Indices:
    """Return a number for each name, from 0 in order of first appearance."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


# Choosing

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
