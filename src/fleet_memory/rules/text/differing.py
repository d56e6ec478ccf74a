"""A hint for the judges of a pair: the texts have other figures, or one of them denies the other.

It decides nothing. It is often wrong about words, and rarely about figures. English only.
"""

import re
from functools import lru_cache
from typing import Final, Literal

from fleet_memory.moment import FRAME_WORDS, stem

_FIGURE: Final = re.compile(r"(?<![\w.-])(-?)[$\u20ac\u00a3]?(\d[\d.,:_]*) ?([a-z%]*)")
_PERIOD: Final = re.compile(r"\b(?:per|every|each|in|half an?) ([a-z]+)")
_UNIT_NAMES = (
    "ms=ms msec millisecond milliseconds; s=s sec second seconds; min=min minute minutes; "
    "h=h hr hour hours; d=d day days night; week=week weeks; month=month months; year=year years; "
    "kb=kb kilobyte; mb=mb megabyte megabytes; gb=gb gigabyte gigabytes; %=% percent; k=k thousand"
)
_UNITS: Final = {
    spelling: unit
    for unit, names in (each.split("=") for each in _UNIT_NAMES.split("; "))
    for spelling in names.split()
}
_NUMBERS = (
    "zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 "
    "twelve=12 fifteen=15 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 ninety=90 hundred=100 "
    "once=1 twice=2"
)
_SPELLED: Final = dict(each.split("=") for each in _NUMBERS.split())
_WORD: Final = re.compile(r"[a-z0-9]+(?:[-'_.][a-z0-9]+)*")
_NUMBER_WORD: Final = re.compile(rf"\b(?:{'|'.join(_SPELLED)})\b")
_NEGATIONS = (
    "not never no none nobody nothing neither nor without avoid avoids avoiding refrain forbid "
    "forbidden prohibit prohibited ban"
)


def differs(a: str, b: str) -> Literal["figures", "negation"] | None:
    """Return in what two texts differ: `differs("Retry 3 times", "Retry 30 times") == "figures"`.

    Both have a figure that the other lacks, or an odd number of negations stands in one of two
    texts about the same things. The order of the texts makes no difference.
    """
    one, other = _figures(a), _figures(b)
    if one - other and other - one:
        return "figures"
    return "negation" if _denies(a) != _denies(b) and _alike(a, b) else None


@lru_cache(maxsize=1024)
def _figures(text: str) -> frozenset[tuple[str, str]]:
    """Return the figures with their units, e.g. {("5", "min")} for "five minutes"."""
    plain = _NUMBER_WORD.sub(lambda word: _SPELLED[word[0]], text.lower())
    figures = {
        (sign + digits.rstrip(".,:_").replace(",", ""), _UNITS.get(unit, ""))
        for sign, digits, unit in _FIGURE.findall(plain)
    }
    return frozenset(
        figures | {("", _UNITS[unit]) for unit in _PERIOD.findall(plain) if unit in _UNITS}
    )


def _denies(text: str) -> bool:
    return sum(word in _NEGATIONS.split() for word in _words(text)) % 2 == 1


def _alike(one: str, other: str) -> bool:
    """Whether the texts talk about the same things: only then does a negation oppose them."""
    left, right = (
        {stem(word) for word in _words(text) if word not in FRAME_WORDS} for text in (one, other)
    )
    shared, fewer = len(left & right), min(len(left), len(right))
    return shared > 0 and shared >= 0.5 * fewer and shared >= 0.3 * len(left | right)


@lru_cache(maxsize=1024)
def _words(text: str) -> list[str]:
    """Return the lower-case words; "don't" becomes "do", "not"."""
    plain = text.lower().replace("\u2019", "'").replace("cannot", "can not")
    plain = plain.replace("won't", "will not").replace("can't", "can not").replace("n't", " not")
    return _WORD.findall(plain.replace("'s", ""))
