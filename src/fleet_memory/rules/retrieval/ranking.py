"""What a question finds: the conditions, the order of results, and repeats shown once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, overload

from fleet_memory.arrays import np
from fleet_memory.rules.entries import row_state, same_program
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.tokens import identifiers
from fleet_memory.schemas.knowledge import EntryState, KnowledgeRow, Tier
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class RecallFilters(NamedTuple):
    """The conditions for recalling a lesson."""

    domain: str | None
    project_id: str | None
    tags: tuple[str, ...]
    min_confidence: float

    def admitted(self, patterns: Iterable[Pattern]) -> Sequence[Pattern]:
        """Return the program's own lessons that pass."""
        passing = list(patterns)
        if self.domain is not None:
            passing = [pattern for pattern in passing if pattern.domain == self.domain]
        if self.project_id is not None:
            passing = [pattern for pattern in passing if pattern.project_id == self.project_id]
        if self.tags:
            passing = [pattern for pattern in passing if set(self.tags) <= set(pattern.tags)]
        if self.min_confidence:
            passing = [pattern for pattern in passing if pattern.confidence >= self.min_confidence]
        return passing

    def admitted_entries(self, readable: Sequence[KnowledgeRow]) -> Sequence[KnowledgeRow]:
        """Return the readable entries that pass: those of no project, or of the one asked for; they
        carry no tags.
        """
        passing = () if self.tags else readable
        if self.domain is not None:
            passing = [row for row in passing if row.domain == self.domain]
        if self.project_id is not None:
            passing = [row for row in passing if row.project_id in (None, self.project_id)]
        if self.min_confidence:
            passing = [row for row in passing if row.confidence >= self.min_confidence]
        return passing


class SearchFilters(NamedTuple):
    """Conditions that an entry must meet in a search; without a status all but retired entries
    match.
    """

    domain: str | None
    tier: Tier | None
    status: EntryState | None
    min_confidence: float

    def admit(self, row: KnowledgeRow, now: datetime) -> bool:
        """Whether an entry passes."""
        return (
            not row.never_published
            and self.domain in (None, row.domain)
            and self.tier in (None, row.tier)
            and (row_state(row, now) == self.status if self.status else not row.is_hidden)
            and row.confidence >= self.min_confidence
        )


Scores: TypeAlias = "NDArray[np.float64]"
Places: TypeAlias = "NDArray[np.intp]"
STRENGTH_BOOST: Final = (
    0.05  # of relevance 0..1: strength settles near ties, never a clear difference
)
NO_VECTOR: Final = -1.0  # the cosine of a lesson without a comparable vector
CHANCE_WORDS: Final = (
    0.20  # a share of a question that texts have by chance; Source: docs/decisions/recall-fusion.md
)
MAX_WORDS_SHARE: Final = (
    0.70  # all words of a question, in any order, are not yet its answer; Source: docs/recall.md
)
FITS_WELL: Final = (
    0.20  # relevance, a score without strength; Source: docs/decisions/how-well-recall-finds.md
)
MIN_RELEVANCE: Final = 0.09  # of a match beyond the nearest; a cosine of .30 alone has it. Chosen
MIN_NEAREST: Final = (
    5  # matches of a question that always come, however far; Source: docs/recall.md
)
MAX_NAMES: Final = (
    20  # of a question that are looked up in each text; chosen: more than a question has
)
_DIGITS: Final = 4  # of scores and their terms
_QUOTED: Final = re.compile(
    r"(?<!\w)(?:([`\"])(.+?)\1|'((?:[^']|(?<=\w)'(?=\w)){3,}?)')(?!\w)"  # three: rock 'n' roll
)
_CAMEL: Final = re.compile(
    r"[a-z]+[A-Z][a-z]"
)  # createStore; neither GitHub nor macOS, which many lessons name
_WORD: Final = re.compile(r"\w")
_CODE: Final = re.compile(
    r"\b[A-Z]\w*(?:-[A-Z]\w*)+|\b\w++(?:::\w+)+|\b[A-Z]{6,}\b"
)  # X-Id, std::vector, ECONNRESET


class Terms(NamedTuple):
    """The terms that a score recomputes from (docs/recall.md); without a question the strength
    alone.
    """

    strength: float
    semantic: float | None = None
    words: float | None = None
    identifiers: float | None = None


class Ranked(NamedTuple):
    """A place in a pool, its score and the terms it recomputes from."""

    position: int
    score: float
    terms: Terms


class Ranking(Sequence[Ranked]):
    """The matches in a pool, best first. A `Ranked` is made when it is asked for: a pool costs
    arrays, not objects.
    """

    def __init__(self, positions: Places, scores: Scores, terms: Mapping[str, Scores]) -> None:
        self._positions = positions
        self._scores = scores
        self._terms = terms  # by name, in the order of the scores

    def __len__(self) -> int:
        """Return how many match."""
        return len(self._positions)

    @overload
    def __getitem__(self, place: int) -> Ranked: ...
    @overload
    def __getitem__(self, place: slice) -> list[Ranked]: ...
    def __getitem__(self, place: int | slice) -> Ranked | list[Ranked]:
        """Return one match, or several."""
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        terms = Terms(**{name: float(values[place]) for name, values in self._terms.items()})
        return Ranked(int(self._positions[place]), float(self._scores[place]), terms)

    def replaced(self, stands_in: Mapping[int, int]) -> Ranking:
        """Return the ranking with `stands_in[p]` in place of a position p; each comes once, at its
        best place.
        """
        if not stands_in:
            return self
        positions = np.array(
            [stands_in.get(place, place) for place in self._positions.tolist()], np.intp
        )
        first = np.sort(np.unique(positions, return_index=True)[1])
        terms = {name: values[first] for name, values in self._terms.items()}
        return Ranking(positions[first], self._scores[first], terms)


def fits_well(best: Sequence[Ranked]) -> bool:
    """Whether the first of `best` (best first, ranked by a question) answers it; False for no
    match.
    """
    return (
        bool(best)
        and round(best[0].score - STRENGTH_BOOST * best[0].terms.strength, _DIGITS) >= FITS_WELL
    )


def by_strength(strengths: ArrayLike) -> Ranking:
    """Rank by strength alone; equal strengths keep their order."""
    exact = np.asarray(strengths, np.float64)
    order = np.argsort(-exact, kind="stable")
    rounded = np.round(exact[order], _DIGITS)
    return Ranking(order, rounded, {"strength": rounded})


def by_relevance(
    cosines: ArrayLike, words: ArrayLike, identifiers: ArrayLike, strengths: ArrayLike
) -> Ranking:
    """Rank by meaning or words, lessons with the question's identifiers first: the nearest five,
    and all others of `MIN_RELEVANCE`.

    `cosines` to the question (`NO_VECTOR` where none is comparable), `words` 0..1 (`word_scores`),
    `identifiers` 0..1 (`identifier_shares`), all of one pool. score = 1 - (1 - semantic) x (1 -
    words) + identifiers + 0.05 x strength, where semantic is the cosine squared, and words 0.7 x
    (share - 0.2) / 0.8, at least 0; relevance is the score without strength. The rest of the pool
    decides how rare a word is and which identifiers are known, nothing else. Of equal scores, the
    one with an identifier comes first. Source: docs/decisions/recall-fusion.md.
    """
    cosine, share = np.asarray(cosines, np.float64), np.asarray(words, np.float64)
    exact = {
        "semantic": np.maximum(0.0, cosine) ** 2,
        "words": MAX_WORDS_SHARE * np.maximum(0.0, share - CHANCE_WORDS) / (1 - CHANCE_WORDS),
        "identifiers": np.asarray(identifiers, np.float64),
        "strength": np.asarray(strengths, np.float64),
    }
    terms = {name: np.round(values, _DIGITS) for name, values in exact.items()}
    apart = (1 - terms["semantic"]) * (1 - terms["words"])
    boost = STRENGTH_BOOST * terms["strength"]
    scores = np.round(1 - apart + terms["identifiers"] + boost, _DIGITS)
    relevance = np.round(scores - boost, _DIGITS)
    order = np.lexsort((-terms["identifiers"], -scores))
    order = order[(relevance[order] >= MIN_RELEVANCE) | (np.arange(len(order)) < MIN_NEAREST)]
    return Ranking(order, scores[order], {name: values[order] for name, values in terms.items()})


def identifier_shares(question: str, texts: Sequence[str]) -> list[float]:
    """Return per text the share of the question's identifiers that it contains, of those in any
    text.

    Identifiers are names in code (`named_in`), as written but for capitals: `main.py` is in a text
    with `src/main.py`, `v2` in none with `v21`. The first `MAX_NAMES` count. All 0 for a question
    without identifiers.
    """
    names = dict.fromkeys(name.casefold() for name in named_in(question)[:MAX_NAMES])
    folded = [text.casefold() for text in texts] if names else []
    holders = []
    for name in names:
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        holding = [name in text and bool(whole.search(text)) for text in folded]
        if any(holding):
            holders.append(holding)
    return (
        [sum(each) / len(holders) for each in zip(*holders, strict=True)]
        if holders
        else [0.0] * len(texts)
    )


def named_in(text: str) -> Sequence[str]:
    """Return the names of things in code in a text, each once: headers, words in six capitals, and
    all that is quoted.

    E.g. `named_in("Does `stock` read X-Request-Id of amount_cents?") == ["stock", "X-Request-Id",
    "amount_cents"]`.
    """
    coded = (name for name in identifiers(text) if not name.isalpha() or _CAMEL.match(name))
    quoted = (words or single for _, words, single in _QUOTED.findall(text))
    names = (*quoted, *_CODE.findall(text), *coded)
    return list(dict.fromkeys(name.strip() for name in names if _WORD.search(name)))


_MAX_HASHED: Final = 8_192  # texts of entries; some 2 MB
_words = lru_cache(_MAX_HASHED)(
    text_hash
)  # entries seldom change, and each recall compares them all


def entries_saying(
    lessons: Collection[Pattern], rows: Sequence[KnowledgeRow]
) -> dict[str, KnowledgeRow]:
    """Return by lesson id the entry among `rows` that states it: the lesson joined it, or has equal
    words.

    """
    return {lesson_id: rows[place] for lesson_id, place in _places_saying(lessons, rows).items()}


def stand_ins(lessons: Sequence[Pattern], rows: Sequence[KnowledgeRow]) -> dict[int, int]:
    """Return by the place of a lesson in the pool of `lessons`, then `rows`, the place of the entry
    that states it.
    """
    saying = _places_saying(lessons, rows)
    return {
        place: len(lessons) + saying[lesson.id]
        for place, lesson in enumerate(lessons)
        if lesson.id in saying
    }


def _places_saying(lessons: Collection[Pattern], rows: Sequence[KnowledgeRow]) -> dict[str, int]:
    """Return by lesson id the place of the row that states it, of lessons that joined an entry
    first.
    """
    by_key = {key: place for place, row in enumerate(rows) for key in (*row.also, row.key)}
    by_words = places_by_words(rows)
    joined = {
        lesson.id: by_key[key]
        for lesson in lessons
        for key in lesson.knowledge_keys
        if key in by_key
    }
    equal = {
        lesson.id: by_words[lesson.words]
        for lesson in lessons
        if lesson.words in by_words and lesson.id not in joined
    }
    return joined | equal


def places_by_words(rows: Sequence[KnowledgeRow]) -> dict[str, int]:
    """Return the place of the first entry of each text, by its `text_hash`."""
    return {_words(rows[place].pattern): place for place in reversed(range(len(rows)))}


def own_keys(program: Program, rows: Sequence[KnowledgeRow]) -> frozenset[str]:
    """Return the keys of the entries that state a lesson of the program, or that one of its earlier
    lessons is in.
    """
    name = same_program(program.program_id)
    contributed = {row.key for row in rows if name in map(same_program, row.contributors)}
    return frozenset(
        contributed | {row.key for row in entries_saying(program.patterns.values(), rows).values()}
    )
