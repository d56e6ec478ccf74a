"""Numbers with their units: "90 s" and "1.5 minutes" agree, "3 times" and "30 times" do not."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isclose
from typing import NamedTuple

from fleet_memory.rules.text.tokens import content

# Dimension, size in the dimension's first unit, how far another unit's figure may be off and still
# agree (a month has 28 to 31 days and may be called four weeks, a MB 1,000 or 1,024 KB), spellings.
# A month is a twelfth of a Julian year.
_TABLE = """
time     1e-6      0     us microsecond
time     1e-3      0     ms msec millisecond
time     1         0     s sec second
time     60        0     min minute
time     3600      0     h hr hour
time     86400     0     d day night
time     604800    0     wk week
time     1209600   0     fortnight
time     2629800   0.082 month
time     31557600  0.02  yr year
size     1         0.08  byte
size     1e3       0.08  kb kib kilobyte
size     1e6       0.08  mb mib megabyte
size     1e9       0.08  gb gib gigabyte
size     1e12      0.08  tb tib terabyte
percent  1         0     % percent pct
dollar   1         0     $ usd dollar
dollar   0.01      0     cent
euro     1         0     \u20ac eur euro
pound    1         0     \u00a3 gbp
"""
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TIMES = {
    "k": 1e3,
    "bn": 1e9,
    "dozen": 12.0,
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
}
_PERIODS = {
    "hourly": "hour",
    "daily": "day",
    "nightly": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
}
_EACH_SECOND = frozenset({"per", "every", "each"})
_EACH = _EACH_SECOND | {"a", "an"}
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
# "one" counts nothing in "no one", "the one", "one of", "one should"
_BEFORE_PRONOUN = frozenset(
    {"no", "any", "every", "each", "which", "this", "that", "the", "another", "some", "not"}
)
_AFTER_PRONOUN = frozenset(
    {
        "of",
        "can",
        "is",
        "has",
        "should",
        "must",
        "may",
        "will",
        "that",
        "who",
        "another",
        "or",
        "at",
    }
)
# "once" counts before these, and is a conjunction before others
_AFTER_ONCE = frozenset(
    {"", ".", ",", ";", "per", "every", "each", "and", "or", "before", "then", "only"}
)

_LONG = 15  # content words: about two sentences
_BESIDE = 3  # words on each side of a figure that name the things it counts

_CHUNK = re.compile(
    r"\d{1,2}:\d\d(?![\d:])|[,;!?]|(?:\d,(?=\d{3}(?!\d))|[^\s,;:!?()\[\]{}\"'`<>=|/*+~#&\u2014])+"
)
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))
_NUMBER = re.compile(r"(-?)([$\u20ac\u00a3]?)(\d[\d,_]*(?:\.\d+)?)([a-z]*|[%\u20ac])")
_COMPOUND = re.compile(
    r"[$\u20ac\u00a3]?\d[\d,_.]*-\d[\d.]*[a-z%]*|\d[\d,_.]*(?:-[a-z]+)+|[a-z]+(?:-[a-z]+)+"
)
_WHOLE = re.compile(r"(\d{4})-(\d\d)-(\d\d)|(\d{1,2}):(\d\d)")


class _Unit(NamedTuple):
    dimension: str
    size: float
    slack: float
    name: str


class Quantity(NamedTuple):
    """A figure in the first unit of its dimension; `text` is how the lesson wrote it."""

    value: float
    unit: _Unit
    text: str
    beside: str = ""  # the words around it


def _units() -> dict[str, _Unit]:
    units: dict[str, _Unit] = {}
    for line in _TABLE.strip().splitlines():
        dimension, size, slack, *spellings = line.split()
        units |= dict.fromkeys(spellings, _Unit(dimension, float(size), float(slack), spellings[0]))
    return units


_UNITS = _units()
_ROUNDING = 1e-8  # of a figure; more than `_equal` allows for
_MAX_OFF = {  # by dimension: of a figure, within which all that are equal to it lie
    unit.dimension: max(
        _ROUNDING,
        *(1.1 * each.slack for each in _UNITS.values() if each.dimension == unit.dimension),
    )
    for unit in _UNITS.values()
}
_WORDS = (
    {word: float(value) for value, word in enumerate(_ONES.split())}
    | {word: 10.0 * value for value, word in enumerate(_TENS.split(), 2)}
    | {"once": 1.0, "twice": 2.0, "thrice": 3.0}
)
# Matches every text with a figure; most texts have none, and need not be read further.
_HINT = re.compile(
    r"\d|\b(?:half|(?:per|every|each|an?|in|as) "
    rf"(?:{'|'.join(filter(str.isalpha, [*_UNITS, *_TIMES]))})"
    rf"|{'|'.join([*_WORDS, *_PERIODS])})"
)


def other_number(one: str, other: str) -> str | None:
    """Return two figures of one dimension, each without an equal in the other text; None when there
    are none.

    In long texts they must also stand near a common word: there, each text may well give a figure
    of its own.
    """
    left = quantities(one)
    right = quantities(other) if left else ()
    mine = _without_equal(left, right)
    theirs = _without_equal(right, left) if mine else []
    long = bool(theirs) and min(len(content(one)), len(content(other))) > _LONG
    first: dict[tuple[str, str], int] = {}
    for place, there in enumerate(theirs):
        for name in _meetings(there, long=long):
            first.setdefault(name, place)
    for here in mine:
        if places := [first[name] for name in _meetings(here, long=long) if name in first]:
            return f"{here.text} / {theirs[min(places)].text}"
    return None


def _meetings(figure: Quantity, *, long: bool) -> list[tuple[str, str]]:
    """Return what a figure has in common with those that it may differ from: a dimension, in long
    texts a word too.
    """
    return [(figure.unit.dimension, word) for word in (content(figure.beside) if long else ("",))]


def _without_equal(figures: Sequence[Quantity], others: Sequence[Quantity]) -> list[Quantity]:
    """Return the figures without an equal among others, which may be hundreds: each is compared
    with those near it.
    """
    known: dict[str, list[Quantity]] = {}
    for other in sorted(others, key=_value):
        known.setdefault(other.unit.dimension, []).append(other)

    def has_equal(figure: Quantity) -> bool:
        dimension = figure.unit.dimension
        same, off = known.get(dimension, []), abs(figure.value) * _MAX_OFF.get(dimension, _ROUNDING)
        begin = bisect_left(same, figure.value - off, key=_value)
        end = bisect_right(same, figure.value + off, key=_value)
        return any(_equal(figure, other) for other in same[begin:end])

    return [figure for figure in figures if not has_equal(figure)]


def _value(figure: Quantity) -> float:
    return figure.value


def _equal(one: Quantity, other: Quantity) -> bool:
    slack = 0.0 if one.unit == other.unit else max(one.unit.slack, other.unit.slack)
    return isclose(one.value, other.value, rel_tol=max(slack, 1e-9))


@lru_cache(maxsize=1024)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the figures of a text in order; numbers inside identifiers ("us-east1", "v2.1") are
    none.
    """
    text = text.lower()
    if not _HINT.search(text):
        return ()
    tokens = [
        *_tokens(text.translate(_DASHES)),
        "",
        "",
    ]  # so that every token has one before it and two after it
    figures, at = [], 0
    while at < len(tokens) - 2:
        quantity, used = _read(tokens, at)
        if quantity:
            around = [*tokens[max(0, at - _BESIDE) : at], *tokens[at + used : at + used + _BESIDE]]
            figures.append(quantity._replace(beside=" ".join(around)))
        at += used
    return tuple(figures)


def _tokens(text: str) -> Iterator[str]:
    for chunk in _CHUNK.findall(text):
        bare = chunk.rstrip(".-")
        if not _WHOLE.fullmatch(bare) and _COMPOUND.fullmatch(bare):
            yield from bare.split("-")
        else:
            yield bare
        if bare != chunk:
            yield "."


def _read(tokens: Sequence[str], at: int) -> tuple[Quantity | None, int]:
    """Return the figure that starts at a token, if any, and how many tokens it takes."""
    word = tokens[at]
    if whole := _WHOLE.fullmatch(word):
        kind = _Unit("date" if whole[1] else "clock", 1.0, 0.0, "")
        return Quantity(float("".join(part for part in whole.groups() if part)), kind, word), 1
    if number := _NUMBER.fullmatch(word):
        return _figure(number, tokens, at)
    hundreds = word == "a" and tokens[at + 1] in _TIMES
    return _spelled(tokens, at) if word in _WORDS or hundreds else _implied(tokens, at)


def _figure(number: re.Match[str], tokens: Sequence[str], at: int) -> tuple[Quantity | None, int]:
    sign, money, digits, suffix = number.groups()
    if suffix in _ORDINAL:
        return None, 1
    if money and suffix == "m":  # without a currency, "5m" may be minutes or metres
        suffix = "million"
    value = float(sign + digits.replace(",", "").replace("_", "")) * _TIMES.get(suffix, 1.0)
    return _counted(
        value, tokens, at, 1, money or ("" if suffix in _TIMES or suffix == "x" else suffix)
    )


def _spelled(tokens: Sequence[str], at: int) -> tuple[Quantity | None, int]:
    if tokens[at] == "a":  # "a hundred"
        return _counted(1.0, tokens, at, 1, "")
    if not _counts(tokens, at):
        return None, 1
    value, used = 0.0, 0
    while (word := tokens[at + used]) in _WORDS:
        value += _WORDS[word]
        used += 1
    return _counted(value, tokens, at, used, "")


def _counts(tokens: Sequence[str], at: int) -> bool:
    """Whether a number word is a number: "one" may be a pronoun, "once" a conjunction."""
    before, word, after = tokens[at - 1], tokens[at], tokens[at + 1]
    if word == "one":
        return before not in _BEFORE_PRONOUN and after.isalpha() and after not in _AFTER_PRONOUN
    if word == "once":
        period = after in ("a", "an") and _unit(tokens[at + 2])
        return before != "at" and (after in _AFTER_ONCE or bool(period))
    return True


def _implied(tokens: Sequence[str], at: int) -> tuple[Quantity | None, int]:
    """Read "daily", "every minute" and "half an hour"; "a second" may be an ordinal."""
    word, after, last = tokens[at : at + 3]
    if word in _PERIODS:
        return Quantity(_UNITS[_PERIODS[word]].size, _UNITS[_PERIODS[word]], word), 1
    unit = None if tokens[at - 1] == "of" else _unit(after)  # "a quarter of an hour"
    if (
        word in _EACH
        and unit
        and unit.dimension == "time"
        and (unit.size != 1 or word in _EACH_SECOND)
    ):
        return Quantity(unit.size, unit, f"{word} {after}"), 2
    if (
        word in ("in", "as") and unit and after.endswith("s")
    ):  # "in seconds": another unit is another lesson
        return Quantity(
            unit.size, unit._replace(dimension=f"in {unit.dimension}", slack=0.0), f"{word} {after}"
        ), 2
    if word == "half" and after in ("a", "an") and (unit := _unit(last)):
        return Quantity(unit.size / 2, unit, f"half {after} {last}"), 3
    return None, 1


def _counted(
    value: float, tokens: Sequence[str], at: int, used: int, suffix: str
) -> tuple[Quantity, int]:
    """Take the multipliers and the unit that follow a number."""
    while tokens[at + used] in _TIMES:
        value *= _TIMES[tokens[at + used]]
        used += 1
    unit = _UNITS.get(suffix, _Unit(suffix, 1.0, 0.0, suffix))
    if not suffix and (following := _unit(tokens[at + used])):
        unit, used = following, used + 1
    return Quantity(value * unit.size, unit, " ".join(tokens[at : at + used])), used


def _unit(word: str) -> _Unit | None:
    """Return the unit that a word of its own names; "us" is none ("20 US firms"), only "20us"
    is.
    """
    return _UNITS.get(word) or _UNITS.get(word.removesuffix("s")) if word != "us" else None
