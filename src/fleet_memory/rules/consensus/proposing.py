"""Which pairs of lessons a reader should judge: the best partners of each lesson in other programs, over all domains.

Why margins and not cosines, and why lessons of a large fleet meet in cells: docs/decisions/proposing-in-cells.md.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.cells import Cells, cells
from fleet_memory.rules.consensus.comparison import Comparison, Flags, Indices, Int8Rows, comparison, in_blocks
from fleet_memory.rules.text.tokens import content
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import ComparableLesson, Proposal
from fleet_memory.schemas.similarity import Profile

MAX_PARTNERS: Final = 8  # pairs that one lesson proposes; other lessons may propose more with it
MAX_EXACT_LESSONS: Final = 20_000  # lessons that are all compared with each other
MAX_NEAR_PROGRAMS: Final = 64  # programs searched for partners of one lesson of a fleet in cells
MAX_LISTED: Final = 16  # partners of a lesson of a fleet in cells, until those that list it are known too
SHARED_WORDS_WEIGHT: Final = 0.1  # of a rank; docs/consensus.md

_MADE_AT_ONCE: Final = 4_096  # objects of proposals in memory at once

_FIRST_LOOKED_UP: Final = 4 * MAX_PARTNERS  # pairs of a lesson whose rivals are looked up first; most need no more

_Block: TypeAlias = tuple[Indices, Indices]  # rows and columns that are all compared


class _Pairs(NamedTuple):
    """m pairs: a lesson each, a partner each, their cosines."""

    lessons: NDArray[np.signedinteger]
    partners: NDArray[np.signedinteger]
    cosines: Vectors

    def where(self, kept: Flags | Indices) -> "_Pairs":
        """Return some of the pairs, or all in another order."""
        return _Pairs(self.lessons[kept], self.partners[kept], self.cosines[kept])


@dataclass(frozen=True, eq=False)
class Proposals:
    """m proposals, best rank first, in columns: those of 100,000 lessons are half a million, 140 MB as objects.

    `ends` is m×2, the positions; `scores` is m×4: cosine, rival, margin and rank.
    """

    ends: NDArray[np.int32]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.ends)

    def __iter__(self) -> Iterator[Proposal]:
        """Yield them, best rank first."""
        for start in range(0, len(self.ends), _MADE_AT_ONCE):
            part = slice(start, start + _MADE_AT_ONCE)
            yield from map(Proposal, *self.ends[part].T.tolist(), *self.scores[part].T.tolist())


def proposals(
    lessons: Sequence[ComparableLesson], vectors: Int8Rows, wanted: Collection[int], profile: Profile
) -> Proposals:
    """Return the pairs to judge of the `wanted` positions in `lessons`, best rank first, each pair once.

    A lesson proposes its `MAX_PARTNERS` best partners by margin, at least `profile.review`: lessons of other programs,
    and entries, in other words, of the same project or where either has none; an entry proposes other entries too.
    `vectors` is n×d, zeros where a lesson has no comparable vector. Beyond `MAX_EXACT_LESSONS` squared comparisons, a
    lesson meets only the lessons of the cells nearest to it; the scores of the pairs found are exact all the same.
    """
    compared = comparing(lessons, vectors, wanted, profile)
    return compared.ranked([compared.partners(block) for block in compared.blocks])


class Comparing(NamedTuple):
    """A comparison in slices, as a job wants it that reports progress: `partners` of each block, then all `ranked`."""

    lessons: Sequence[ComparableLesson]
    fleet: Comparison
    made: Cells | None
    asked: Flags
    blocks: Sequence[Indices]
    profile: Profile

    def partners(self, block: Indices) -> _Pairs:
        """Return the best partners of the lessons of one of the blocks."""
        programs, partners = (len(self.lessons), MAX_PARTNERS) if self.made is None else (MAX_NEAR_PROGRAMS, MAX_LISTED)
        near = _near(self.fleet, _blocks(self.fleet, block, self.made), self.profile.floor)
        near = _of_nearest_programs(self.fleet, near, _least(self.profile), programs)
        return _best_partners(self.fleet, near, partners, self.profile)

    def ranked(self, found: Sequence[_Pairs]) -> Proposals:
        """Return the proposals, given the partners of every block."""
        if not found:
            return Proposals(np.zeros((0, 2), np.int32), np.zeros((0, 4)))
        return _ranked(self.lessons, self.fleet, _joined(found), self.asked[self.fleet.order], self.profile)


def comparing(
    lessons: Sequence[ComparableLesson], vectors: Int8Rows, wanted: Collection[int], profile: Profile
) -> Comparing:
    """Return the comparison that `proposals` makes, ready for its first block; no blocks where there is nothing."""
    fleet = comparison(lessons, vectors, profile.variant)
    asked = np.zeros(len(lessons), np.bool_)
    asked[list(wanted)] = True
    rows = np.flatnonzero(asked[fleet.order] & (fleet.scales > 0))
    exact = len(rows) * len(lessons) <= MAX_EXACT_LESSONS**2
    made = None if exact else cells(fleet)
    blocks = in_blocks(rows, len(lessons) if made is None else max(made.compared, len(fleet.starts)))
    return Comparing(lessons, fleet, made, asked, list(blocks), profile)


def _blocks(fleet: Comparison, rows: Indices, made: Cells | None) -> Iterator[_Block]:
    if made is None:
        yield from ((rows, columns) for columns in in_blocks(np.arange(len(fleet.order)), max(len(rows), 1_000)))
        return
    near = made.nearest(rows)
    yield from ((rows[near[cell]], made.members(cell)) for cell in np.flatnonzero(near.any(1)).tolist())


def _near(fleet: Comparison, blocks: Iterator[_Block], least: float) -> _Pairs:
    """Return the pairs with a cosine of `least` or more: partners, their rivals, and lessons of one program."""
    found = []
    for rows, columns in blocks:
        cosines = fleet.cosines(rows, columns).ravel()
        close = np.flatnonzero(cosines >= least)  # far faster than nonzero of a matrix, as is `take` than indexing
        i, j = np.divmod(close, len(columns))
        found.append(_Pairs(rows.astype(np.int32).take(i), columns.astype(np.int32).take(j), cosines.take(close)))
    return _joined(found)  # numbers of 4 bytes: a block has millions of pairs


def _best_partners(fleet: Comparison, near: _Pairs, count: int, profile: Profile) -> _Pairs:
    """Return the `count` best partners of each lesson of `near`, which has all pairs of these lessons.

    The rivals of the partner's side bound the margin from above; those of the lesson's side are looked up for the pairs
    with the best bounds first, then for those with a bound above the worst margin that would be proposed.
    """
    pairs, rivals = _with_rivals(fleet, near, profile)
    bounds = _margins(pairs.cosines, rivals, profile)
    ample = bounds >= profile.review
    pairs, rivals, bounds = pairs.where(ample), rivals[ample], bounds[ample]
    order = _best_first(pairs.lessons, bounds)
    pairs, rivals, bounds = pairs.where(order), rivals[order], bounds[order]
    margins = np.full(len(bounds), -1, np.float32)
    bars = np.full(len(fleet.order), profile.review, np.float32)
    promising = _places(pairs.lessons) < _FIRST_LOOKED_UP
    while promising.any():
        some = pairs.where(promising)
        own = fleet.rivals(some.lessons, some.partners)
        margins[promising] = _margins(some.cosines, np.maximum(rivals[promising], own), profile)
        best = _first_partners(pairs, margins, count, profile)
        last = best[_places(pairs.lessons[best]) == count - 1]
        bars[pairs.lessons[last]] = margins[last]
        promising = (margins == -1) & (bounds >= bars[pairs.lessons])
    return pairs.where(_first_partners(pairs, margins, count, profile))


def _first_partners(pairs: _Pairs, margins: Vectors, count: int, profile: Profile) -> Indices:
    """Return which pairs are the first `count` of each lesson by margin, in order; ties go to the first partner."""
    ample = np.flatnonzero(margins >= profile.review)
    order = ample[np.lexsort((pairs.partners[ample], -margins[ample], pairs.lessons[ample]))]
    first: Indices = order[_places(pairs.lessons[order]) < count]
    return first


def _best_first(groups: Indices, scores: Vectors) -> Indices:
    """Return the order by group, in it by score, best first; `scores` are positive, as are their bits' values then."""
    order: Indices = np.argsort((groups << 32) - scores.view(np.int32))
    return order


def _places(groups: Indices) -> Indices:
    """Return the place of each item in its group, from 0; the items of a group are neighbours."""
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])[: len(groups)]
    places: Indices = np.arange(len(groups)) - np.repeat(starts, np.diff(np.r_[starts, len(groups)]))
    return places


def _with_rivals(fleet: Comparison, near: _Pairs, profile: Profile) -> tuple[_Pairs, Vectors]:
    """Return the pairs that may be proposed, and the best cosine of a rival of each partner; 0 if none is near.

    The lessons of one program near one lesson are a run, best first: the first of them that is no variant of the
    partner is its rival.
    """
    least = _least(profile)
    runs = _runs(fleet, near)
    order = _best_first(runs, near.cosines)
    pairs, runs = near.where(order), runs[order]
    may = np.flatnonzero((pairs.cosines >= least) & fleet.may_be_proposed(pairs.lessons, pairs.partners))
    rivals = np.zeros(len(runs), np.float32)
    waiting, at, run_of = may, np.searchsorted(runs, runs[may]), np.r_[runs, -1]
    while len(waiting):
        inside = run_of[at] == runs[waiting]
        waiting, at = waiting[inside], at[inside]
        variant = fleet.are_variants(pairs.partners[at], pairs.partners[waiting])
        variant |= pairs.partners[at] == pairs.lessons[at]  # an entry, near itself
        rivals[waiting[~variant]] = pairs.cosines[at[~variant]]
        waiting, at = waiting[variant], at[variant] + 1
    return pairs.where(may), rivals[may]


def _runs(fleet: Comparison, near: _Pairs) -> Indices:
    """Return a number for the lesson of each pair and its partner's program, the lessons in their order."""
    rows = np.flatnonzero(np.bincount(near.lessons))
    ranks = np.zeros(len(fleet.order), np.int64)
    ranks[rows] = np.arange(len(rows))
    runs: Indices = ranks[near.lessons] * len(fleet.starts) + fleet.programs[near.partners]
    return runs


def _of_nearest_programs(fleet: Comparison, near: _Pairs, least: float, programs: int) -> _Pairs:
    """Return the pairs of each lesson with so many other programs, those with the best cosines, if over `least`.

    An entry's pairs with other entries count as those with one program.
    """
    lessons, width = np.flatnonzero(np.bincount(near.lessons)), len(fleet.starts)
    runs = _runs(fleet, near)
    tops = np.zeros((len(lessons), width), np.float32)
    np.maximum.at(tops.reshape(-1), runs, near.cosines)
    others = np.flatnonzero(~fleet.are_entries(lessons))  # entries may be partners of each other
    tops[others, fleet.programs[lessons[others]]] = 0
    bars = np.full((len(lessons), 1), least, np.float32)
    if programs < width:
        bars = np.maximum(bars, np.partition(tops, -programs, axis=1)[:, -programs, None])
    few = near.where((tops >= bars).reshape(-1)[runs])
    return _Pairs(few.lessons.astype(np.int64), few.partners.astype(np.int64), few.cosines)


def _least(profile: Profile) -> float:
    """Return the least cosine of a pair that can reach `review`, as a rival counts for the floor at least."""
    return profile.review + 0.5 * profile.floor


def _margins(cosines: Vectors, rivals: Vectors, profile: Profile) -> Vectors:
    counted: Vectors = np.maximum(rivals, profile.floor, dtype=np.float32)
    return cosines - np.multiply(counted, 0.5, dtype=np.float32)


def _ranked(
    lessons: Sequence[ComparableLesson], fleet: Comparison, found: _Pairs, asked: Flags, profile: Profile
) -> Proposals:
    """Return the best pairs of each asked lesson once, best rank first.

    A pair that one side found is a pair of the other too. Its rivals are those of both sides among all lessons.
    """
    a, b = np.minimum(found.lessons, found.partners), np.maximum(found.lessons, found.partners)
    _, once = np.unique(a * len(lessons) + b, return_index=True)
    pairs = _Pairs(a[once], b[once], found.cosines[once])
    rivals = np.maximum(fleet.rivals(pairs.lessons, pairs.partners), fleet.rivals(pairs.partners, pairs.lessons))
    margins = _margins(pairs.cosines, rivals, profile)
    kept = _best_of_either(pairs, margins, asked, profile)
    pairs, rivals, margins = pairs.where(kept), rivals[kept], margins[kept]
    ends = fleet.order[np.stack([pairs.lessons, pairs.partners], axis=1)]
    ranks = _rounded(margins + np.float32(SHARED_WORDS_WEIGHT) * _shared_words(lessons, ends))
    order = np.lexsort((pairs.partners, pairs.lessons, -ranks))
    ends.sort(axis=1)
    counted = np.maximum(rivals, np.float32(profile.floor))
    scores = np.stack([_rounded(column)[order] for column in (pairs.cosines, counted, margins, ranks)], axis=1)
    return Proposals(ends[order].astype(np.int32), scores)


def _best_of_either(pairs: _Pairs, margins: Vectors, asked: Flags, profile: Profile) -> Indices:
    """Return which pairs are among the best of one of their lessons that is asked."""
    both = _Pairs(
        np.concatenate([pairs.lessons, pairs.partners]),
        np.concatenate([pairs.partners, pairs.lessons]),
        np.concatenate([pairs.cosines, pairs.cosines]),
    )
    scores = np.where(asked[both.lessons], np.concatenate([margins, margins]), np.float32(-1))
    return np.unique(_first_partners(both, scores, MAX_PARTNERS, profile) % max(1, len(margins)))


def _joined(parts: Iterable[_Pairs]) -> _Pairs:
    lessons, partners, cosines = zip(*parts, strict=True)
    return _Pairs(np.concatenate(lessons), np.concatenate(partners), np.concatenate(cosines))


def _rounded(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(scores, np.float64).round(4)


def _shared_words(lessons: Sequence[ComparableLesson], ends: Indices) -> Vectors:
    """Return which part of the content words of the shorter text the other has too, for m×2 positions in `lessons`."""
    words = {position: content(lessons[position].text) for position in np.unique(ends).tolist()}
    return np.array([_share(words[a], words[b]) for a, b in ends.tolist()], np.float32)


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0
