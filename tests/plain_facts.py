"""The facts of a memory: every fact says who and when.

Whatever is not a fact is computed anew from all of them, by `plain_law` and `plain_world`.
"""

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

DAY = 86_400  # all times are seconds
STALE_AFTER = 90 * DAY


class Key(NamedTuple):
    """An entry: its first text, normalised, and its project."""

    words: str
    project: str | None


@dataclass(frozen=True)
class Text:
    """What a lesson says from a moment on; the newest text of a lesson is the lesson."""

    at: int
    lesson: str
    program: str
    words: str
    project: str | None
    evidence: str
    confidence: float
    session: str | None
    connection: str | None
    imported: bool
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """What an author says of its own old and new words: reworded or corrected."""

    at: int
    lesson: str
    program: str
    old: str
    new: str
    kind: str


@dataclass(frozen=True)
class Word:
    """What a program says of a text: confirmed or contradicted."""

    at: int
    program: str
    words: str
    outcome: str
    evidence: str
    session: str | None = None
    connection: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What a program (None: a person) says of two texts; `author_of` as it was when it said so."""

    at: int
    program: str | None
    pair: frozenset[str]
    verdict: str
    author_of: frozenset[str]
    connection: str | None = None
    role: str | None = None


@dataclass(frozen=True)
class Proposed:
    """Two texts that somebody should judge."""

    at: int
    pair: frozenset[str]


@dataclass(frozen=True)
class Question:
    """A pair that a boot asked a program about."""

    at: int
    program: str
    pair: frozenset[str]


@dataclass(frozen=True)
class Showing:
    """Another's text that a program was shown."""

    at: int
    program: str
    words: str


@dataclass(frozen=True)
class Reading:
    """Knowledge that a program read, as of the run that had written it."""

    at: int
    program: str
    version: int


@dataclass(frozen=True)
class Made:
    """An entry came to be."""

    at: int
    key: Key
    text: str


@dataclass(frozen=True)
class Joined:
    """A lesson joined an entry by `words`; `because` says what its program could have read."""

    at: int
    key: Key
    lesson: str
    words: str
    because: str | None

    @property
    def discovers(self) -> bool:
        return self.because is None


@dataclass(frozen=True)
class Decided:
    """What became of an entry: published (with which threshold), withdrawn, retired, reinstated, reworded."""

    at: int
    key: Key
    what: str
    threshold: int = 0
    text: str = ""


@dataclass(frozen=True)
class Allowed:
    """A person released a text that gives its reader orders."""

    at: int
    program: str
    words: str


Fact = (
    Text
    | Change
    | Word
    | Verdict
    | Proposed
    | Question
    | Showing
    | Reading
    | Made
    | Joined
    | Decided
    | Allowed
)


@cache
def normalised(text: str) -> str:
    """Two texts are equal words when their normalised forms are equal."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    text = text[:1].lower() + text[1:]
    return text[:-1] if text.endswith(".") and text[-2:-1].isalpha() else text


@cache
def agent(program: str) -> str:
    """Return the one agent that several names of a program are, e.g. `shop` of `shop/reviewer`."""
    return unicodedata.normalize("NFKC", program).split("/")[0].casefold()


def is_short(evidence: str) -> bool:
    return len(evidence.split()) <= 3
