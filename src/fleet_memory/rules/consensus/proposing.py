"""Which pairs of lessons a reader should judge: the best partners of each lesson in other programs,
over all domains.

Why margins and not cosines, and why lessons of a large fleet meet in cells:
docs/decisions/proposing-in-cells.md.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.cells import MAX_SHORTFALL, Cells, cells
from fleet_memory.rules.consensus.comparison import (
    Comparison,
    Flags,
    Indices,
    Int8Rows,
    comparison,
    in_blocks,
)
from fleet_memory.rules.consensus.grouped import best_first, places
from fleet_memory.rules.consensus.near_pairs import Block, NearPairs, near_pairs
from fleet_memory.rules.consensus.shared_words import shared_words
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import ComparableLesson, Proposal
from fleet_memory.schemas.similarity import Profile

MAX_PARTNERS: Final = 8  # pairs that one lesson proposes; other lessons may propose more with it
MAX_EXACT_LESSONS: Final = 20_000  # lessons that are all compared with each other
MAX_NEAR_PROGRAMS: Final = 32  # programs searched for partners of one lesson of a fleet in cells
MAX_LISTED: Final = (
    14  # partners of a lesson of a fleet in cells, until those that list it are known too
)
SHARED_WORDS_WEIGHT: Final = 0.1  # of a rank; docs/consensus.md

_CELLS_WIDTH: Final = (
    2_000  # columns, at least, for which blocks in cells are short enough; chosen, for less memory
)
_MADE_AT_ONCE: Final = 4_096  # objects of proposals in memory at once
_RAISED_AT_ONCE: Final = 16_384  # numbers of a table in one call, some .1 ms; chosen
_RANKED_AT_ONCE: Final = 20_000  # lessons whose pairs are sorted at once; chosen, some 20 MB
_FIRST_LOOKED_UP: Final = (
    1.5  # pairs of a lesson whose rivals are looked up first, for each partner that it needs
)


class _Search(NamedTuple):
    """How many programs are searched for partners of a lesson, how many it lists, and how much near
    cosines lack.
    """

    programs: int
    partners: int
    shortfall: float


_IN_CELLS: Final = _Search(MAX_NEAR_PROGRAMS, MAX_LISTED, MAX_SHORTFALL)


class _Pairs(NamedTuple):
    """m pairs: a lesson each, a partner each, their cosines, and the best cosines of rivals that
    are known so far.
    """

    lessons: Indices
    partners: Indices
    cosines: Vectors
    rivals: Vectors

    def where(self, chosen: Flags | Indices) -> "_Pairs":
        """Return some of the pairs, or all in another order."""
        return _Pairs(
            self.lessons[chosen], self.partners[chosen], self.cosines[chosen], self.rivals[chosen]
        )


@dataclass(frozen=True, eq=False)
class Proposals:
    """m proposals, best rank first, in columns: those of 100,000 lessons are half a million, 140 MB
    as objects.

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
    lessons: Sequence[ComparableLesson],
    vectors: Int8Rows,
    wanted: Collection[int],
    profile: Profile,
) -> Proposals:
    """Return the pairs to judge of the `wanted` positions in `lessons`, best rank first, each pair
    once.

    A lesson proposes its `MAX_PARTNERS` best partners by margin, at least `profile.review`: lessons
    of other programs, and entries, in other words, of the same project or where either has none; an
    entry proposes other entries too. `vectors` is n×d, zeros where a lesson has no comparable
    vector. Beyond `MAX_EXACT_LESSONS` squared comparisons, a lesson meets only the lessons of the
    cells nearest to it; the scores of the pairs found are exact all the same.
    """
    compared = comparing(lessons, vectors, wanted, profile)
    return compared.ranked([compared.partners(block) for block in compared.blocks])


class Comparing(NamedTuple):
    """A comparison in slices, as a job wants it that reports progress: `partners` of each block,
    then all `ranked`.
    """

    lessons: Sequence[ComparableLesson]
    fleet: Comparison
    made: Cells | None
    asked: Flags
    blocks: Sequence[Indices]
    profile: Profile

    def partners(self, block: Indices) -> _Pairs:
        """Return the best partners of the lessons of one of the blocks."""
        fleet, made, profile = self.fleet, self.made, self.profile
        search = _Search(len(self.lessons), MAX_PARTNERS, 0) if made is None else _IN_CELLS
        floors = (
            np.full(len(block), profile.floor, np.float32) if made is None else made.bars[block]
        )
        cosines = fleet.cosines if made is None else made.cosines
        near = near_pairs(fleet, block, _blocks(fleet, block, made), cosines, floors)
        pairs, runs = _of_nearest_programs(fleet, block, near, search, profile)
        del near
        return _best_partners(
            fleet, _with_rivals(fleet, pairs, runs, search, profile), search, profile
        )

    def ranked(self, parts: Sequence[_Pairs]) -> Proposals:
        """Return the proposals, given the partners of every block."""
        if not parts:
            return Proposals(np.zeros((0, 2), np.int32), np.zeros((0, 4)))
        return _ranked(
            self.lessons, self.fleet, _joined(parts), self.asked[self.fleet.order], self.profile
        )


def comparing(
    lessons: Sequence[ComparableLesson],
    vectors: Int8Rows,
    wanted: Collection[int],
    profile: Profile,
) -> Comparing:
    """Return the comparison that `proposals` makes, ready for its first block; no blocks where
    there is nothing.
    """
    fleet = comparison(lessons, vectors, profile.variant)
    asked = np.zeros(len(lessons), np.bool_)
    asked[list(wanted)] = True
    rows = np.flatnonzero(asked[fleet.order] & (fleet.scales > 0))
    exact = len(rows) * len(lessons) <= MAX_EXACT_LESSONS**2
    made = None if exact else cells(fleet, _least(profile) - MAX_SHORTFALL)
    width = len(lessons) if made is None else max(_CELLS_WIDTH, len(fleet.starts), made.max_size)
    blocks = in_blocks(rows, width)
    return Comparing(lessons, fleet, made, asked, list(blocks), profile)


def _blocks(fleet: Comparison, rows: Indices, made: Cells | None) -> Iterator[Block]:
    if made is None:
        every = np.arange(len(rows))
        yield from (
            (every, columns)
            for columns in in_blocks(np.arange(len(fleet.order)), max(len(rows), 1_000))
        )
        return
    near = made.nearest(rows)
    cells_near = np.flatnonzero(near.any(1)).tolist()
    yield from ((np.flatnonzero(near[cell]), made.members(cell)) for cell in cells_near)


def _of_nearest_programs(
    fleet: Comparison, rows: Indices, near: NearPairs, search: _Search, profile: Profile
) -> tuple[_Pairs, Indices]:
    """Return the pairs of `rows` that may be proposed or are rivals of such, and a number for
    lesson and program each.

    These are the near pairs of each lesson with so many other programs, those with the best
    cosines, if these are enough for a proposal. An entry's pairs with other entries count as those
    with one program.
    """
    width, least = len(fleet.starts), _least(profile) - search.shortfall
    tops = np.tile(
        np.arange(-width, 0, dtype=np.float32), (len(rows), 1)
    )  # equal ones take 8 times as long to sort
    high = np.flatnonzero(near.cosines >= least)
    for start in range(0, len(high), _RAISED_AT_ONCE):  # `maximum.at` stops all threads
        some = high[start : start + _RAISED_AT_ONCE]
        np.maximum.at(tops.reshape(-1), near.runs.take(some), near.cosines.take(some))
    others = np.flatnonzero(~fleet.are_entries(rows))  # entries may be partners of each other
    tops[others, fleet.programs[rows[others]]] = -1
    bars = np.full((len(rows), 1), least, np.float32)
    if search.programs < width:
        bars = np.maximum(
            bars, np.partition(tops, -search.programs, axis=1)[:, -search.programs, None]
        )
    few = np.flatnonzero((tops >= bars).reshape(-1).take(near.runs))
    runs, cosines = near.runs.take(few).astype(np.int64), near.cosines.take(few)
    partners = near.partners.take(few).astype(np.int64)
    return _Pairs(rows.take(runs // width), partners, cosines, np.zeros_like(cosines)), runs


def _best_partners(fleet: Comparison, pairs: _Pairs, search: _Search, profile: Profile) -> _Pairs:
    """Return the best partners of each lesson, given all pairs of these lessons; `rivals` become
    the lesson's.

    The rivals of the partner's side bound the margin from above; those of the lesson's side are
    looked up for the pairs with the best bounds first, then for those with a bound above the worst
    margin that would be proposed.
    """
    count, bounds = search.partners, _margins(pairs, profile) + np.float32(search.shortfall)
    ample = np.flatnonzero(bounds >= profile.review)
    order = ample[best_first(pairs.lessons[ample], bounds[ample])]
    pairs, bounds = pairs.where(order), bounds[order]
    own = np.zeros_like(bounds)
    margins = np.full_like(bounds, -1)
    bars = np.full(len(fleet.order), profile.review, np.float32)
    promising = np.flatnonzero(places(pairs.lessons) < _FIRST_LOOKED_UP * count)
    while len(promising):
        some = pairs.where(promising)
        cosines, rivals = fleet.rivals(some.lessons, some.partners)
        pairs.cosines[promising], own[promising] = cosines, rivals
        exact = some._replace(
            cosines=cosines, rivals=np.maximum(some.rivals - search.shortfall, rivals)
        )
        margins[promising] = _margins(exact, profile)
        best = _first_partners(pairs, margins, count, profile)
        last = best[places(pairs.lessons[best]) == count - 1]
        bars[pairs.lessons[last]] = margins[last]
        promising = np.flatnonzero((margins == -1) & (bounds >= bars[pairs.lessons]))
    return pairs._replace(rivals=own).where(_first_partners(pairs, margins, count, profile))


def _first_partners(pairs: _Pairs, margins: Vectors, count: int, profile: Profile) -> Indices:
    """Return which pairs are the first `count` of each lesson by margin, in order; ties go to the
    first partner.
    """
    ample = np.flatnonzero(margins >= profile.review)
    lessons, some = pairs.lessons[ample], margins[ample]
    order = best_first(lessons, some)
    equal = (np.diff(lessons[order]) == 0) & (np.diff(some[order]) == 0)
    ties = np.flatnonzero(np.r_[equal, False] | np.r_[False, equal]) if len(order) else order
    tied = order[ties]
    order[ties] = tied[np.lexsort((pairs.partners[ample[tied]], -some[tied], lessons[tied]))]
    first: Indices = ample[order[places(lessons[order]) < count]]
    return first


def _with_rivals(
    fleet: Comparison, near: _Pairs, runs: Indices, search: _Search, profile: Profile
) -> _Pairs:
    """Return the pairs that may be proposed, and the best cosine of a rival of each partner; 0 if
    none is near.

    The lessons of one program near one lesson are a run, best first: the first of them that is no
    variant of the partner is its rival.
    """
    order = best_first(runs, near.cosines)
    near, runs = near.where(order), runs[order]
    may = near.cosines >= _least(profile) - search.shortfall
    may &= fleet.may_be_proposed(near.lessons, near.partners)
    waiting = np.flatnonzero(may)
    starts = np.flatnonzero(np.r_[True, np.diff(runs) != 0][: len(runs)])
    at, run_of = np.repeat(starts, np.diff(np.r_[starts, len(runs)]))[waiting], np.r_[runs, -1]
    while len(waiting):
        inside = run_of[at] == runs[waiting]
        waiting, at = waiting[inside], at[inside]
        variant = fleet.are_variants(near.partners[at], near.partners[waiting])
        variant |= near.partners[at] == near.lessons[at]  # an entry, near itself
        near.rivals[waiting[~variant]] = near.cosines[at[~variant]]
        waiting, at = waiting[variant], at[variant] + 1
    return near.where(may)


def _least(profile: Profile) -> float:
    """Return the least cosine of a pair that can reach `review`, as a rival counts for the floor at
    least.
    """
    return profile.review + 0.5 * profile.floor


def _margins(pairs: _Pairs, profile: Profile) -> Vectors:
    counted: Vectors = np.maximum(pairs.rivals, profile.floor, dtype=np.float32)
    return pairs.cosines - np.multiply(counted, 0.5, dtype=np.float32)


def _ranked(
    lessons: Sequence[ComparableLesson],
    fleet: Comparison,
    near: _Pairs,
    asked: Flags,
    profile: Profile,
) -> Proposals:
    """Return the best pairs of each asked lesson once, best rank first.

    A pair that one side found is a pair of the other too. Its rivals are those of both sides among
    all lessons.
    """
    pairs = _once(fleet, near)
    margins = _margins(pairs, profile)
    chosen = _best_of_either(pairs, margins, asked, profile)
    pairs, margins = pairs.where(chosen), margins[chosen]
    ends = fleet.order[np.stack([pairs.lessons, pairs.partners], axis=1)]
    ranks = _rounded(margins + np.float32(SHARED_WORDS_WEIGHT) * shared_words(lessons, ends))
    order = np.lexsort((pairs.partners, pairs.lessons, -ranks))
    ends.sort(axis=1)
    counted = np.maximum(pairs.rivals, np.float32(profile.floor))
    scores = np.stack(
        [_rounded(column)[order] for column in (pairs.cosines, counted, margins, ranks)], axis=1
    )
    return Proposals(ends[order].astype(np.int32), scores)


def _once(fleet: Comparison, near: _Pairs) -> _Pairs:
    """Return each pair once, with the rivals of both sides, given pairs with the rivals of the side
    that found them.
    """
    keys = np.minimum(near.lessons, near.partners) << 32 | np.maximum(near.lessons, near.partners)
    order = np.argsort(keys)
    keys = keys[order]
    first = np.flatnonzero(np.r_[True, np.diff(keys) != 0][: len(keys)])
    rivals = np.maximum.reduceat(near.rivals[order], first)
    one_sided = np.flatnonzero(np.diff(np.r_[first, len(keys)]) == 1)  # found by one side
    some = near.where(order[first[one_sided]])
    rivals[one_sided] = np.maximum(some.rivals, fleet.rivals(some.partners, some.lessons)[1])
    keys, cosines = keys[first], near.cosines[order[first]]
    return _Pairs(keys >> 32, keys & 0xFFFFFFFF, cosines, rivals)


def _best_of_either(pairs: _Pairs, margins: Vectors, asked: Flags, profile: Profile) -> Indices:
    """Return which pairs are among the best of one of their lessons that is asked."""
    both = _joined([pairs, pairs._replace(lessons=pairs.partners, partners=pairs.lessons)])
    scores = np.where(asked[both.lessons], np.concatenate([margins, margins]), np.float32(-1))
    is_best = np.zeros(len(margins), np.bool_)  # np.unique would stop all threads
    for start in range(0, len(asked), _RANKED_AT_ONCE):
        some = np.flatnonzero((both.lessons >= start) & (both.lessons < start + _RANKED_AT_ONCE))
        is_best[
            some[_first_partners(both.where(some), scores[some], MAX_PARTNERS, profile)]
            % len(margins)
        ] = True
    return np.flatnonzero(is_best)


def _joined(parts: Iterable[_Pairs]) -> _Pairs:
    return _Pairs(*map(np.concatenate, zip(*parts, strict=True)))


def _rounded(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(scores, np.float64).round(4)
