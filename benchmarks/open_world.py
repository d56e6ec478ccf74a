"""What consolidation decides about some programs, by the rule the product runs: `rules.consolidation.planned`."""

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from fleet_memory.rules.consensus.planning import Topic, planned
from fleet_memory.schemas.waiting import Learnt

from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import Vectors, packed, unpacked
from fleet_memory.schemas.similarity import Profile

SHARED: Final = 0.2  # of one program's lessons exist in the other's at all
BY_ALL: Final = 0.25  # of each program's lessons are told by all three
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


def decided(programs: Sequence[Sequence[Lesson]], rows: Vectors, profile: Profile) -> Tally:
    """Consolidate programs; `rows` are the vectors of their lessons, one program after the other.

    A group of three counts as its three pairs.
    """
    said = [lesson for program in programs for lesson in program]
    lessons = [one for number, program in enumerate(programs) for one in _learnt(str(number), program)]
    meanings = {one.place: lesson.meaning for one, lesson in zip(lessons, said, strict=True)}
    kept = unpacked([packed(row) for row in rows])
    plan = planned(Topic(lessons, kept, [], np.empty((0, kept.shape[1]), np.float32)), profile, 2)
    merged = [
        (lessons[i].place, lessons[j].place) for group in plan.promotions for i, j in combinations(group.members, 2)
    ]
    offered = [(pair.a.place, pair.b.place) for pair in plan.open_pairs]
    return Tally(
        sum(meanings[a] == meanings[b] for a, b in merged),
        len(merged),
        sum(meanings[a] == meanings[b] for a, b in offered),
        len(offered),
        sum(_agreeing(left, right) for left, right in combinations(programs, 2)),
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


def told_by_two_of_three(
    pairs: Sequence[tuple[str, str, str]], strangers: Sequence[str], size: int, draw: int
) -> list[list[Lesson]]:
    """Return three programs' lessons: each shares a fifth of them with each of the others, none with both."""
    chance = random.Random(draw)  # noqa: S311 - a draw, not a secret
    programs: list[list[Lesson]] = [[], [], []]
    picked = chance.sample(list(pairs), 3 * round(size * SHARED))
    for at, (meaning, one, other) in enumerate(picked):
        left, right = ((0, 1), (0, 2), (1, 2))[at % 3]
        programs[left].append(Lesson(one, meaning))
        programs[right].append(Lesson(other, meaning))
    told = {text for _, *both in picked for text in both}
    return _filled(programs, [Lesson(text, text) for text in strangers if text not in told], size, chance)


def told_by_projects(
    projects: Sequence[Sequence[tuple[str, str, str]]], strangers: Sequence[str], size: int, draw: int
) -> list[list[Lesson]]:
    """Return three programs' lessons: two told by a project each, a fifth of either also in the third, other wordings.

    Of `projects` no two tell the same, so nobody tells what all three say.
    """
    chance = random.Random(draw)  # noqa: S311 - a draw, not a secret
    drawn_from = [chance.sample(list(pairs), size) for pairs in projects]
    both = [pair for pairs in drawn_from for pair in pairs[: round(size * SHARED)]]
    told = {other for pairs in drawn_from for *_, other in pairs}
    alone = [Lesson(text, text) for text in strangers if text not in told]
    (third,) = _filled([[Lesson(other, meaning) for meaning, _, other in both]], alone, size, chance)
    return [*([Lesson(one, meaning) for meaning, one, _ in pairs] for pairs in drawn_from), third]


def told_by_three(
    triples: Sequence[tuple[str, str, str]], strangers: Sequence[str], size: int, draw: int
) -> list[list[Lesson]]:
    """Return three programs' lessons: a quarter of them are told by all, each in a wording of its own.

    `triples` are one lesson in three wordings. Those that are not drawn are told by one program at most.
    """
    chance = random.Random(draw)  # noqa: S311 - a draw, not a secret
    shuffled = chance.sample(list(triples), len(triples))
    common, alone = shuffled[: round(size * BY_ALL)], shuffled[round(size * BY_ALL) :]
    programs = [[Lesson(wordings[number], wordings[0]) for wordings in common] for number in range(3)]
    others = [Lesson(chance.choice(wordings), wordings[0]) for wordings in alone]
    return _filled(programs, [*others, *(Lesson(text, text) for text in strangers)], size, chance)


def _filled(
    programs: Sequence[list[Lesson]], others: Sequence[Lesson], size: int, chance: random.Random
) -> list[list[Lesson]]:
    """Return programs of `size` lessons, each of the others in one of them at most."""
    missing = [size - len(program) for program in programs]
    rest = iter(chance.sample(list(others), sum(missing)))
    return [[*program, *(next(rest) for _ in range(count))] for program, count in zip(programs, missing, strict=True)]


def _agreeing(left: Sequence[Lesson], right: Sequence[Lesson]) -> int:
    others = {lesson.meaning for lesson in right}
    return sum(lesson.meaning in others for lesson in left)


def _learnt(program: str, lessons: Sequence[Lesson]) -> list[Learnt]:
    return [
        Learnt(program, str(at), said.domain, said.text, text_hash(said.text), 0.8, 0.0, NOT_STALE)
        for at, said in enumerate(lessons)
    ]
