"""Names that are close to one that does not exist, so that a typo or another word for it is seen."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

MIN_CLOSENESS: Final = 0.6  # 0..1; difflib's own default
_MIN_PART_CHARS: Final = 3  # a shorter part, e.g. "ci", is inside of words that have nothing to do with it


def close_names(
    name: str, known: Iterable[str], limit: int = 3, min_closeness: float = MIN_CLOSENESS
) -> tuple[str, ...]:
    """Return up to `limit` known names, the closest first: spelt alike, or one a part of the other.

    `min_closeness` is at least MIN_CLOSENESS; above it, a part of a name is not enough.
    Letter case does not count: `close_names("Claims", ["git", "task-claims"]) == ("task-claims",)`.
    """
    scored = [(_closeness(name, each), each) for each in dict.fromkeys(known)]
    near = sorted((-score, each) for score, each in scored if score >= min_closeness)
    return tuple(each for _, each in near[:limit])


def _closeness(name: str, other: str) -> float:
    """Return how close two names are, 0..1: letters in the same order as a share; a part of the other is close."""
    a, b = sorted((name.casefold(), other.casefold()), key=len)
    matcher = SequenceMatcher(None, a, b)
    if matcher.real_quick_ratio() < MIN_CLOSENESS or matcher.quick_ratio() < MIN_CLOSENESS:
        ratio = 0.0
    else:
        ratio = matcher.ratio()
    return max(ratio, MIN_CLOSENESS) if len(a) >= _MIN_PART_CHARS and a in b else ratio
