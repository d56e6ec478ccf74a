"""Which lessons of different programs are the same: links between pairs, and groups that do not chain.

The measurements behind every threshold and choice are in docs/consensus.md.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fleet_memory.schemas.similarity import NEVER, Profile

Matrix: TypeAlias = NDArray[np.float32]
Positions: TypeAlias = NDArray[np.int_]
Pair: TypeAlias = tuple[int, int]
"""Positions of two lessons, the smaller first."""

EXACT: Final = 2.0  # contrast of a pair that is the same by its words or by a verdict: above every score
CROWDED: Final = 500  # lessons in a domain from which only `strict` merges unasked; Source: docs/consensus.md


A_THIRD: Final = 0.33  # of the words, see `Bar`


class Link(NamedTuple):
    """Two lessons of different programs, each the other's best match.

    `contrast` is the cosine less half the best rival's; `rival` is that rival's cosine. `shared` is which part of the
    content words of the text that has fewer stands in the other too, 0..1.
    """

    contrast: float
    cosine: float
    rival: float
    i: int
    j: int
    shared: float = 0.0

    @property
    def pair(self) -> Pair:
        """The positions of the two lessons, the smaller first."""
        return (self.i, self.j)


class Bar(NamedTuple):
    """What makes a link merge unasked: its contrast and `words` times its shared words reach `least`.

    Where a third of the words is shared and no rival's cosine exceeds `quiet`, a contrast of `alone` is enough. Three
    links that each reach `triangle` in the same way hold each other.
    """

    least: float
    alone: float
    quiet: float
    words: float
    triangle: float

    def score(self, link: Link) -> float:
        """Return the link's contrast with what its shared words add."""
        return round(link.contrast + self.words * link.shared, 4)

    def merges(self, link: Link) -> bool:
        """Whether a link is strong enough by itself."""
        lone = link.contrast >= self.alone and link.rival <= self.quiet and link.shared >= A_THIRD
        return self.score(link) >= self.least or lone


def bar_of(profile: Profile, lessons: int) -> Bar:
    """Return the bar within a domain of so many lessons; a crowded one asks for what holds across domains."""
    return (
        strict_bar(profile)
        if lessons > CROWDED
        else Bar(profile.auto, profile.alone, profile.quiet, profile.words, profile.triangle)
    )


def strict_bar(profile: Profile) -> Bar:
    """Return the bar across domains."""
    return Bar(profile.strict, NEVER, 0.0, 0.0, profile.triangle)


class Rulings(NamedTuple):
    """What is decided before any score: pairs that are the same, and pairs that must not meet."""

    together: frozenset[Pair] = frozenset()
    apart: frozenset[Pair] = frozenset()


def links(cosines: Matrix, programs: Sequence[str], profile: Profile) -> list[Link]:
    """Return the mutual best matches between programs whose contrast reaches `review`, best first.

    `cosines` is nxn, symmetric; `programs[i]` is who learnt lesson i. Rivals are lessons of the two programs only:
    a third program's wording must not count against a pair.
    """
    _, codes = np.unique(np.asarray(programs), return_inverse=True)
    i, j = np.nonzero(np.triu(cosines >= _least(profile), 1))
    apart = codes[i] != codes[j]
    i, j = i[apart], j[apart]
    # Only lessons that are alike to another program's at all are looked up in their rivals' programs.
    alike = np.unique(np.concatenate((i, j)))
    best, second = _two_best(cosines[alike], codes)
    row = np.searchsorted(alike, np.arange(len(programs)))
    there, back = (row[i], codes[j]), (row[j], codes[i])
    cosine = cosines[i, j]
    mutual = (cosine >= best[there]) & (cosine >= best[back])
    rivals = np.maximum(second[there], second[back])
    return _links(i[mutual], j[mutual], cosine[mutual], rivals[mutual], profile)


def links_between(block: Matrix, programs: Sequence[str], profile: Profile) -> list[Link]:
    """Return the links of lessons (rows, learnt by `programs`) to entries (columns), as `links` would find them.

    Entries count as one program's lessons. A link's `j` counts on from the lessons: column c is len(programs) + c.
    """
    _, codes = np.unique(np.asarray(programs), return_inverse=True)
    best, second = _two_best(block.T, codes)  # entries x programs
    own_best, own_second = _two_best(block, np.zeros(block.shape[1], dtype=np.int_))
    mutual = (block >= best.T[codes]) & (block >= own_best)
    i, j = np.nonzero(mutual & (block >= _least(profile)))
    rivals = np.maximum(second[j, codes[i]], own_second[i, 0])
    return _links(i, j + len(programs), block[i, j], rivals, profile)


def _least(profile: Profile) -> float:
    # The floor is every pair's least rival, so nothing below this cosine can reach `review`.
    return profile.review + 0.5 * profile.floor


def _links(i: Positions, j: Positions, cosines: Matrix, rivals: Matrix, profile: Profile) -> list[Link]:
    contrasts = cosines - 0.5 * np.maximum(profile.floor, rivals)
    rows = zip(contrasts.tolist(), cosines.tolist(), rivals.tolist(), i.tolist(), j.tolist(), strict=True)
    found = [Link(round(c, 4), round(s, 4), round(max(r, 0.0), 4), a, b) for c, s, r, a, b in rows]
    return sorted((link for link in found if link.contrast >= profile.review), key=lambda x: (-x.contrast, x.i, x.j))


def _two_best(cosines: Matrix, codes: Positions) -> tuple[Matrix, Matrix]:
    """Return two rows × programs tables: each row's best and second best cosine within each program; -1 for none.

    `codes[c]` is the program of column c, programs counted from 0.
    """
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) > 0])
    by_program = cosines[:, order]
    best = np.maximum.reduceat(by_program, starts, axis=1)
    is_best = by_program == best[:, codes[order]]
    others = np.maximum.reduceat(np.where(is_best, np.float32(-1.0), by_program), starts, axis=1)
    tied = np.add.reduceat(is_best, starts, axis=1, dtype=np.int32) > 1
    return best, np.where(tied, best, others)


def groups(found: Sequence[Link], programs: Sequence[str], rulings: Rulings, bar: Bar) -> list[list[int]]:
    """Return groups of two or more positions, one lesson per program, every pair inside linked and none kept apart.

    A link counts when it clears the bar, or when it is one side of a triangle of links. Complete linkage,
    best first: lessons do not chain. The result does not depend on the order of `found`.
    """
    scores = {link.pair: link.contrast for link in found if link.pair not in rulings.apart}
    scores |= dict.fromkeys(rulings.together - rulings.apart, EXACT)
    close = {link.pair for link in found if bar.score(link) >= bar.triangle and link.pair in scores}
    close |= rulings.together - rulings.apart
    near = _neighbours(close)
    strong = {link.pair for link in found if bar.merges(link)} | rulings.together
    sure = [pair for pair in scores if pair in strong or (pair in close and near[pair[0]] & near[pair[1]])]
    home: dict[int, list[int]] = {position: [position] for pair in sure for position in pair}
    for i, j in sorted(sure, key=lambda pair: (-scores[pair], pair)):
        one, two = home[i], home[j]
        if one is not two and _may_join(one, two, scores, programs):
            one.extend(two)
            home.update(dict.fromkeys(two, one))
    return sorted({id(group): sorted(group) for group in home.values() if len(group) > 1}.values())


def _neighbours(close: Iterable[Pair]) -> dict[int, set[int]]:
    near: dict[int, set[int]] = {}
    for i, j in close:
        near.setdefault(i, set()).add(j)
        near.setdefault(j, set()).add(i)
    return near


def _may_join(one: Sequence[int], two: Sequence[int], scores: Collection[Pair], programs: Sequence[str]) -> bool:
    if {programs[i] for i in one} & {programs[j] for j in two}:
        return False
    return all((min(cross), max(cross)) in scores for cross in product(one, two))


def medoid(cosines: Matrix, ranks: Sequence[tuple[object, ...]]) -> int:
    """Return the lesson closest to all others; ties go to the lowest rank. `cosines` is n×n, n = len(ranks)."""
    closeness = np.round(cosines.sum(1), 4).tolist()
    return min(range(len(ranks)), key=lambda position: (-closeness[position], ranks[position]))
