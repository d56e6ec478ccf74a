"""Names that are close to one that does not exist, so that a typo or another word for it is
seen.
"""

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

MIN_CLOSENESS: Final = 0.6  # 0..1; difflib's own default
MAX_COMPARED: Final = (
    50  # known names, of the most letters in common, of which the order counts too; chosen
)
_MIN_PART_CHARS: Final = (
    3  # a shorter part, e.g. "ci", is inside of words that have nothing to do with it
)


def close_names(
    name: str, known: Iterable[str], limit: int = 3, min_closeness: float = MIN_CLOSENESS
) -> tuple[str, ...]:
    """Return up to `limit` known names, the closest first: spelt alike, or one a part of the other.

    `min_closeness` is at least MIN_CLOSENESS; above it, a part of a name is not enough.
    Letter case does not count: `close_names("Claims", ["git", "task-claims"]) == ("task-claims",)`.
    """
    folded, spelt = name.casefold(), dict.fromkeys(known)
    bounds = {each: _most(folded, other) for each in spelt if (other := each.casefold())}
    likely = sorted(bounds, key=lambda each: -bounds[each])[:MAX_COMPARED]
    scores = {
        each: _ratio(folded, each.casefold()) for each in likely if bounds[each] >= MIN_CLOSENESS
    }
    scored = (
        (max(scores.get(each, 0.0), _as_part(folded, each.casefold())), each) for each in bounds
    )
    near = sorted((-score, each) for score, each in scored if score >= min_closeness)
    return tuple(each for _, each in near[:limit])


def _most(name: str, other: str) -> float:
    """Return the most that the ratio of two names can be: their letters in common, in any order, as
    a share.
    """
    both = len(name) + len(other)
    if 2 * min(len(name), len(other)) < MIN_CLOSENESS * both:
        return 0.0
    return 2 * sum(min(name.count(letter), other.count(letter)) for letter in set(name)) / both


def _ratio(name: str, other: str) -> float:
    """Return the letters of two names in the same order as a share, 0..1."""
    a, b = sorted((name, other), key=len)
    return SequenceMatcher(None, a, b).ratio()


def _as_part(name: str, other: str) -> float:
    """Return how close two names are because one is a part of the other."""
    a, b = sorted((name, other), key=len)
    return MIN_CLOSENESS if len(a) >= _MIN_PART_CHARS and a in b else 0.0
