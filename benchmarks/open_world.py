"""What consolidation decides about two programs, by the rule the product runs: `rules.consolidation.planned`."""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from fleet_memory.rules.consolidation import Topic, planned
from fleet_memory.rules.keys import text_hash
from fleet_memory.rules.vectors import packed, unpacked
from fleet_memory.schemas.similarity import Profile
from fleet_memory.schemas.waiting import Learnt
from fleet_memory.similarity import Vectors

SHARED: Final = 0.2  # of one program's lessons exist in the other's at all
DRAWS: Final = 1000  # fewer flatter or slander a rule: forty draws gave .955 where a thousand give .938
NOT_STALE: Final = 1e12  # seconds since 1970


class Lesson(NamedTuple):
    """A text, what it says (equal for texts that say the same) and its domain."""

    text: str
    meaning: str
    domain: str = "one"


class Tally(NamedTuple):
    """Pairs over several draws: merged and right, merged, offered and right, offered, and those there were to find."""

    right: int = 0
    merged: int = 0
    offered_right: int = 0
    offered: int = 0
    true: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Return both together."""
        return Tally(*(one + two for one, two in zip(self, other, strict=True)))

    def row(self, name: str) -> tuple[str, float, float, float, float]:
        """Return precision and recall of merges, recall with the offered pairs, and pairs offered per true one."""
        found = (self.right + self.offered_right) / self.true
        return name, self.right / max(1, self.merged), self.right / self.true, found, self.offered / self.true


def decided(left: Sequence[Lesson], right: Sequence[Lesson], rows: Vectors, profile: Profile) -> Tally:
    """Consolidate two programs; `rows` are the vectors of the left lessons, then of the right ones."""
    lessons = [*_learnt("left", left), *_learnt("right", right)]
    meanings = {one.place: said.meaning for one, said in zip(lessons, [*left, *right], strict=True)}
    kept = unpacked([packed(row) for row in rows])
    plan = planned(Topic(lessons, kept, [], np.empty((0, kept.shape[1]), np.float32)), profile, 2)
    merged = [[lessons[member].place for member in group.members] for group in plan.promotions]
    offered = [[pair.a.place, pair.b.place] for pair in plan.open_pairs]
    others = {said.meaning for said in right}
    return Tally(
        sum(meanings[a] == meanings[b] for a, b in merged),
        len(merged),
        sum(meanings[a] == meanings[b] for a, b in offered),
        len(offered),
        sum(said.meaning in others for said in left),
    )


def drawn(
    pairs: Sequence[tuple[str, str, str]], strangers: Sequence[str], sizes: tuple[int, int], draw: int
) -> tuple[list[Lesson], list[Lesson]]:
    """Return two programs' lessons: the left ones told by one project, a fifth of them also on the right.

    `pairs` are (meaning, one wording, the other); `strangers` are texts that say none of it.
    """
    chance = random.Random(draw)  # noqa: S311 - a draw, not a secret
    left = chance.sample(list(pairs), sizes[0])
    both = left[: round(sizes[0] * SHARED)]
    told = {other for _, _, other in left}
    alone = chance.sample([text for text in strangers if text not in told], sizes[1] - len(both))
    return (
        [Lesson(one, meaning) for meaning, one, _ in left],
        [*(Lesson(other, meaning) for meaning, _, other in both), *(Lesson(text, text) for text in alone)],
    )


def _learnt(program: str, lessons: Sequence[Lesson]) -> list[Learnt]:
    return [
        Learnt(program, str(at), said.domain, said.text, text_hash(said.text), 0.8, 0.0, NOT_STALE)
        for at, said in enumerate(lessons)
    ]
