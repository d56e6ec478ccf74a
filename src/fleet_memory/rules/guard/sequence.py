"""The order of two steps: "before X, do Y" and "do Y before X" agree, "X before Y" and "Y before X" do not."""

import re
from functools import lru_cache
from typing import NamedTuple

from fleet_memory.rules.text.tokens import content

_SENTENCE = re.compile(r"(?<=[.!?;]) ")
_FORWARD = frozenset({"before", "prior to", "ahead of", "until", "then", "and then"})
_FRONTED = re.compile(
    r"(?:(?:always|please|also|and|but|so) )?(before|prior to|after|once|when(?! \w+ing\b)|until) (.+)", re.IGNORECASE
)
_INNER = re.compile(
    r"(.+?)[,;]? (before|prior to|ahead of|until|after|once|following|(?:and )?then|only (?:when|if)) (.+)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(.+?) first[,;] (.+)", re.IGNORECASE)
# "to avoid races" and "or two agents race" say why, they refuse nothing.
_REFUSAL = re.compile(r"\b(?:never|not|cannot|(?<!to )avoid)\b|n't\b", re.IGNORECASE)
_SHOWN = 40  # characters of a step in an objection


class Steps(NamedTuple):
    """Two steps in the order in which they happen, as the text words them."""

    first: str
    second: str


def other_order(one: str, other: str) -> str | None:
    """Return the step that each text puts first when they contradict each other in it, else None."""
    left, right = steps(one), steps(other)
    if not left or not right:
        return None
    (first, second), (start, end) = map(content, left), map(content, right)
    straight, ahead, behind = len(first & start) + len(second & end), len(first & end), len(second & start)
    crossed = ahead and behind and ahead + behind > straight
    return f"{_short(left.first)} first / {_short(right.first)} first" if crossed else None


@lru_cache(maxsize=1024)
def steps(text: str) -> Steps | None:
    """Return what happens first and second in the first sentence that orders two steps, else None."""
    sentences = _SENTENCE.split(" ".join(text.split()))
    return next((found for sentence in sentences if (found := _steps(sentence.strip(" .!?;")))), None)


def _steps(sentence: str) -> Steps | None:
    if found := _NUMBERED.fullmatch(sentence):
        return Steps(*found.groups())
    if found := _FRONTED.fullmatch(sentence):
        word, rest = found.groups()
        clause, comma, main = rest.partition(", ")
        if not comma:  # "before pushing run the tests": about half of the words are the clause
            parts = rest.split()
            clause, main = " ".join(parts[: len(parts) // 2]), " ".join(parts[len(parts) // 2 :])
        refused = _REFUSAL.search(main)
    elif found := _INNER.fullmatch(sentence):
        main, word, rest = found.groups()
        clause, _, after = rest.partition(", ")
        refused = _REFUSAL.search(main)
        main = f"{main} {after}".rstrip()
    else:
        return None
    forward = word.lower() in _FORWARD
    if forward and refused:  # "never X before Y": Y, then X
        return Steps(clause, _REFUSAL.sub("", main).strip())
    return Steps(main, clause) if forward else Steps(clause, main)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3].rstrip() + "..."
