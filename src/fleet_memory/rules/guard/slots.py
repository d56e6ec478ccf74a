"""Another thing in the same place: "store sessions in Redis" and "store sessions in Postgres".

Two texts share most of their words, and each has words of its own where the other has some. Most
such pairs recommend different things; the others exchange words for synonyms (`synonyms` lists the
commonest).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product
from math import inf
from typing import Final, NamedTuple

from fleet_memory.rules.guard.polarity import NEGATIONS
from fleet_memory.rules.guard.quantities import quantities
from fleet_memory.rules.guard.synonyms import GENERIC, MAX_PHRASE_WORDS, meanings, phrases
from fleet_memory.rules.text.tokens import FRAME_WORDS, stem

_WORD: Final = re.compile(r"[^\W_]+(?:[./'\u2019][^\W_]+)*[+#]*|[,;:.!?()]")
_POSSESSIVE: Final = re.compile(r"['\u2019]s$")
_PART: Final = re.compile(r"[^\W_]+")
_ARTICLES: Final = frozenset({"a", "an", "the", "your", "my", "our", "their", "its"})
# After these words, and after a shared content word, two words may stand in one place: "in Redis" /
# "in Postgres".
_PLACES: Final = frozenset(
    re.findall(
        r"\w+",
        "use using with via in inside within into by to from at on onto through over under run "
        "per as for",
    )
)
# After these a text gives its reason: another reason for the same advice is no other thing.
_REASONS: Final = frozenset({"because", "otherwise", "lest"})
_PURPOSES: Final = frozenset(
    map(stem, ["avoid", "prevent", "save", "reduce", "speed", "keep", "ease", "help"])
)
# Endings that make other words of the same root.
_ENDINGS: Final = frozenset(
    re.findall(
        r"\w+",
        "i s er or r ison ion tion ation ment y ly al ic ical ity iv abl ibl anc enc ant ent "
        "nes ful les ist up down t",
    )
) | {""}
_MIN_ROOT: Final = 4  # letters
_MAX_CONTENT: Final = 3  # content words of one side in a place; more are another clause
_MAX_LITTLE: Final = 2  # other words of one side in a place
_MAX_RUNS: Final = 2  # places of one side that are its own
_MAX_SHOWN: Final = 40  # characters of a side in an objection
_MAX_MOVED: Final = 2.0  # weight of a side's own words in a sentence of another order
# the weight of a `GENERIC` word or a figure, where a content word weighs 1 and a frame word 0
_LITTLE: Final = 0.5
# How much the shared words weigh at least, by the mean weight of each side's own words: if those
# are names, have equal words before and after them, are one word each, or none of these. Chosen on
# tests/data/slots.tsv and benchmarks/lessons.tsv.
_MIN_SHARED_OF_NAMES: Final = 0.33
_MIN_SHARED_OF_WORDS: Final = 1.0
_MIN_SHARED_IN_FRAME: Final = 0.5
_MIN_SHARED: Final = 2.0


class Term(NamedTuple):
    """A word as the text writes it, its meanings, its weight, and whether it looks like a name or
    stands where one may.

    `loose` is true for a word that may be one text's own: no punctuation, no figure and not part of
    a reason.
    """

    text: str
    keys: frozenset[str]
    weight: float
    named: bool
    loose: bool

    @property
    def content(self) -> bool:
        """Whether it can be another thing."""
        return self.weight == 1


_END: Final = Term("", frozenset(), 0, named=False, loose=False)


class Run(NamedTuple):
    """Words in a row that only one text has, and the words before and after them; both may be the
    text's end.

    `content` counts those that can be another thing.
    """

    terms: Sequence[Term]
    before: Term
    after: Term
    content: int

    @property
    def named(self) -> bool:
        """Whether it has a word that looks like a name or stands where one may."""
        return self.content > 0 and (
            _is_place_word(self.before) or any(t.content and t.named for t in self.terms)
        )

    def shown(self) -> str:
        """Return its words, shortened, without those at its ends that are no things."""
        things = [at for at, term in enumerate(self.terms) if term.content] or [
            0,
            len(self.terms) - 1,
        ]
        words = " ".join(term.text for term in self.terms[things[0] : things[-1] + 1])
        return words if len(words) <= _MAX_SHOWN else words[: _MAX_SHOWN - 3].rstrip() + "..."


def other_thing(one: str, other: str) -> str | None:
    """Return the words that each text has where the other has its own, e.g. "Redis / Postgres",
    else None.
    """
    left, right = terms(one), terms(other)
    mine = own_runs(left, _known(other))
    theirs = own_runs(right, _known(one)) if mine else ()
    things = [sum(run.content > 0 for run in runs) for runs in (mine, theirs)]
    if not any(things) or max(things) > _MAX_RUNS:
        return None
    own = _weight(mine), _weight(theirs)
    shared = min(_total(left) - own[0], _total(right) - own[1])
    share = 2 * shared / sum(own)
    for here, there in product(filter(_is_place, mine), filter(_is_place, theirs)):
        if share >= _least_share(here, there, max(own), things):
            return f"{here.shown()} / {there.shown()}"
    return None


def _least_share(here: Run, there: Run, own: float, things: Sequence[int]) -> float:
    """Return how much the texts must share for two runs to be things in one place.

    The more certain the place is, the less. `own` is the weight of the longer side's own words,
    `things` how many runs with content each side has.
    """
    before, after = _alike(here.before, there.before), _alike(here.after, there.after)
    placed = _is_place_word(here.before) and _is_place_word(there.before)
    if any(_denies(run) for run in (here, there)):  # "not safe" / "unsafe": see polarity.py
        return inf
    if not (
        here.content and there.content
    ):  # "the data team" / "the platform team": one of them has no content word
        framed = after and ((before and here.before is not _END) or placed)
        return _MIN_SHARED_OF_WORDS if framed and not min(things) else inf
    if before and after and max(things) == 1 and here.before is not here.after:
        return _MIN_SHARED_IN_FRAME
    in_place = (before and (after or placed or here.before.weight > 0)) or (
        after and here.after.weight > 0
    )
    moved = own <= _MAX_MOVED and (here.named or there.named)
    if not in_place and not moved:
        return inf
    if here.named and there.named:
        return _MIN_SHARED_OF_NAMES
    return _MIN_SHARED_OF_WORDS if own <= 1 else _MIN_SHARED


def _denies(run: Run) -> bool:
    return any(term.text.lower() in NEGATIONS or term.text.endswith("n't") for term in run.terms)


def _total(text: Sequence[Term]) -> float:
    return sum(term.weight for term in text)


def _weight(runs: Iterable[Run]) -> float:
    return sum(term.weight for run in runs for term in run.terms)


def _alike(one: Term, other: Term) -> bool:
    return one is other or not one.keys.isdisjoint(other.keys)


def _is_place(run: Run) -> bool:
    """Whether it is short enough to be a thing in a place, not a clause."""
    return run.content <= _MAX_CONTENT and len(run.terms) - run.content <= _MAX_LITTLE


def _is_place_word(term: Term) -> bool:
    return term.text.lower() in _PLACES


class Known(NamedTuple):
    """The meanings of a text's words, how they are spelled by themselves and two by two, and their
    roots.
    """

    keys: frozenset[str]
    spelled: frozenset[str]
    doubled: frozenset[str]
    qualified: Sequence[str]
    roots: Mapping[str, Sequence[str]]

    def has(self, term: Term, joined: Sequence[str]) -> bool:
        """Return whether the text has a word of one meaning or root with `term`, or one of its
        spellings.
        """
        if (
            not self.keys.isdisjoint(term.keys)
            or not self.spelled.isdisjoint(joined)
            or joined[0] in self.doubled
        ):
            return True
        if not joined[0].isalpha() and self._qualifies(joined[0]):
            return True
        return any(
            _of_one_root(key, other)
            for key in term.keys
            for other in self.roots.get(key[:_MIN_ROOT], ())
        )

    def _qualifies(self, word: str) -> bool:
        """Whether "main.py" meets "src/main.py", "v2" meets "v2.1", and "task.status" the status of
        a task.
        """
        if any(word in other or other in word for other in self.qualified):
            return True
        parts = _PART.findall(word)
        return len(parts) > 1 and not any(self.keys.isdisjoint(meanings(part)) for part in parts)


def own_runs(text: Sequence[Term], known: Known) -> Sequence[Run]:
    """Return the runs of words of `text` without a known meaning, in order."""
    runs: list[Run] = []
    own: list[Term] = []
    before = _END
    for term, joined in zip((*text, _END), (*_joined(text), ("",)), strict=True):
        if term.loose and not known.has(term, joined):
            own.append(term)
            continue
        if own:
            runs.append(Run(own, before, term, sum(it.content for it in own)))
            own = []
        before = term
    return runs


def _joined(text: Sequence[Term]) -> Iterator[Sequence[str]]:
    """Yield for each word its spelling in lower case, alone and joined with a neighbour: "lock",
    "lockfile".
    """
    words = ["", *(term.text.lower() for term in text), ""]
    for at, word in enumerate(words[1:-1], 1):
        yield word, words[at - 1] + word, word + words[at + 1]


@lru_cache(maxsize=1024)
def _known(text: str) -> Known:
    text_terms = terms(text)
    keys = frozenset[str]().union(*(term.keys for term in text_terms))
    spelled = [term.text.lower() for term in text_terms]
    roots: dict[str, list[str]] = {}
    for key in keys:
        roots.setdefault(key[:_MIN_ROOT], []).append(key)
    qualified = [word for word in spelled if len(word) > 1 and not word.isalpha()]
    return Known(
        keys, frozenset(spelled), frozenset(map("".join, pairwise(spelled))), qualified, roots
    )


def _of_one_root(one: str, other: str) -> bool:
    """Whether two stems differ in their endings alone: "configur" and "configuration"."""
    if min(len(one), len(other)) < _MIN_ROOT:
        return False
    unequal = (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    shared = next(unequal, min(len(one), len(other)))
    return one[shared:] in _ENDINGS and other[shared:] in _ENDINGS


@lru_cache(maxsize=1024)
def terms(text: str) -> Sequence[Term]:
    """Return the words of a text and the punctuation between them, in order, without articles."""
    figures = {word for figure in quantities(text) for word in _PART.findall(figure.text)}
    in_order: list[Term] = []
    before, fresh, reason = (
        "",
        True,
        False,
    )  # the word before, whether a sentence begins, whether a reason is given
    for written in _phrased(_WORD.findall(text)):
        word = _POSSESSIVE.sub("", written.lower())
        if word in _ARTICLES:
            continue
        if not word[0].isalnum():
            fresh, reason = word in ".:!?", reason and word in ",()"
            in_order.append(Term(word, frozenset((word,)), 0, named=False, loose=False))
            before = word
            continue
        reason = (
            reason
            or word in _REASONS
            or (before == "," and word == "or")
            or (before == "to" and stem(word) in _PURPOSES)
        )
        figure = word in figures or word.isdecimal()
        weight = 0 if word in FRAME_WORDS else _LITTLE if figure or stem(word) in GENERIC else 1
        named = not written.isalpha() or not (written.islower() or fresh) or before in _PLACES
        in_order.append(Term(written, meanings(word), weight, named, loose=not (figure or reason)))
        before, fresh = word, False
    return tuple(in_order)


def _phrased(words: Sequence[str]) -> Iterator[str]:
    """Yield the words, those of a known phrase as its one-word synonym."""
    lower = [word.lower() for word in words]
    known, starts = phrases()
    at = 0
    while at < len(words):
        used = 1
        if lower[at] in starts:
            used = next(
                (n for n in range(MAX_PHRASE_WORDS, 1, -1) if tuple(lower[at : at + n]) in known), 1
            )
        yield words[at] if used == 1 else known[tuple(lower[at : at + used])]
        at += used
