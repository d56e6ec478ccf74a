"""The order of steps in a text: "before X, do Y" and "do Y before X" agree, "X before Y" and "Y
before X" do not.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from fleet_memory.rules.text.tokens import content, stem, words

_SENTENCE = re.compile(r"(?<=[.!?;]) ")
_FORWARD = frozenset({"before", "prior to", "ahead of", "until", "then", "and then"})
_FRONTED = re.compile(
    r"(?:(?:always|please|also|and|but|so) )?(before|prior to|after|once|when(?! "
    r"\w+ing\b)|until) (.+)",
    re.IGNORECASE,
)
_INNER = re.compile(
    r"(.+?)[,;]? (before|prior to|ahead of|until|after|once|following|(?:and )?then|only "
    r"(?:when|if)) (.+)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(.+?) first[,;] (.+)", re.IGNORECASE)
# "to avoid races" and "or two agents race" give reasons, they refuse nothing.
_REFUSAL = re.compile(r"\b(?:never|not|cannot|(?<!to )avoid)\b|n't\b", re.IGNORECASE)

# Between two swapped parts these prove nothing: "X and Y", "X, Y" and, wherever it stands, "X is
# next to Y".
_LOOSE = frozenset({"and", "or", "as", "is", "are"})
_SYMMETRIC = frozenset(
    {
        ",",
        "next",
        "clos",
        "equal",
        "similar",
        "identical",
        "sam",
        "different",
        "lik",
        "near",
        "between",
    }
)
_ARTICLES = frozenset({"a", "an", "the"})
_MAX_WORDS = 40  # words between which two parts are looked for; the search grows with the cube
_SHOWN = 40  # characters of a step in an objection


class Steps(NamedTuple):
    """Two steps in the order in which they happen, as the text words them."""

    first: str
    second: str


def other_order(one: str, other: str) -> str | None:
    """Return the parts that two texts order differently, e.g. "test first / deploy first"; None if
    there are none.
    """
    return _crossed_steps(one, other) or _swapped_parts(one, other)


def _crossed_steps(one: str, other: str) -> str | None:
    left, right = steps(one), steps(other)
    if not left or not right:
        return None
    (first, second), (start, end) = map(content, left), map(content, right)
    straight, ahead, behind = (
        len(first & start) + len(second & end),
        len(first & end),
        len(second & start),
    )
    crossed = ahead and behind and ahead + behind > straight
    return f"{_short(left.first)} first / {_short(right.first)} first" if crossed else None


@lru_cache(maxsize=1024)
def steps(text: str) -> Steps | None:
    """Return the first and the second step of the first sentence that orders two, else None."""
    sentences = _SENTENCE.split(" ".join(text.split()))
    return next(
        (steps for sentence in sentences if (steps := _steps(sentence.strip(" .!?;")))), None
    )


def _steps(sentence: str) -> Steps | None:
    if numbered := _NUMBERED.fullmatch(sentence):
        return Steps(*numbered.groups())
    if numbered := _FRONTED.fullmatch(sentence):
        word, rest = numbered.groups()
        clause, comma, main = rest.partition(", ")
        if not comma:  # "before pushing run the tests": about half of the words are the clause
            parts = rest.split()
            clause, main = " ".join(parts[: len(parts) // 2]), " ".join(parts[len(parts) // 2 :])
        refused = _REFUSAL.search(main)
    elif numbered := _INNER.fullmatch(sentence):
        main, word, rest = numbered.groups()
        clause, _, after = rest.partition(", ")
        refused = _REFUSAL.search(main)
        main = f"{main} {after}".rstrip()
    else:
        return None
    forward = word.lower() in _FORWARD
    if forward and refused:  # "never X before Y": Y, then X
        return Steps(clause, _REFUSAL.sub("", main).strip())
    return Steps(main, clause) if forward else Steps(clause, main)


def _swapped_parts(one: str, other: str) -> str | None:
    """Whether two parts of otherwise equal texts changed places: "agents notify users" / "users
    notify agents".
    """
    if content(one) != content(other):
        return None
    mine, theirs = _frame(one), _frame(other)
    if mine == theirs or sorted(mine) != sorted(theirs):
        return None
    start = next(at for at in range(len(mine)) if mine[at] != theirs[at])
    end = next(at for at in range(len(mine), 0, -1) if mine[at - 1] != theirs[at - 1])
    middle, swapped = mine[start:end], theirs[start:end]
    if (long := len(middle)) > _MAX_WORDS:
        return None
    heads = [head for head in range(1, long - 1) if middle[:head] == swapped[long - head :]]
    tails = [tail for tail in range(1, long - 1) if middle[long - tail :] == swapped[:tail]]
    for head, tail in product(heads, tails):
        hinge = middle[head : long - tail]
        if hinge and hinge == swapped[tail : long - head] and not _proves_nothing(hinge):
            return " / ".join(_short(" ".join(_plain(text)[start:end])) for text in (one, other))
    return None


def _plain(text: str) -> list[str]:
    return [word for word in words(text.rstrip(" .!?")) if word not in _ARTICLES]


def _frame(text: str) -> list[str]:
    return [stem(word) for word in _plain(text)]


def _proves_nothing(hinge: Sequence[str]) -> bool:
    return _LOOSE.issuperset(hinge) or not _SYMMETRIC.isdisjoint(hinge)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3].rstrip() + "..."
