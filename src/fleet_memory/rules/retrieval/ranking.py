"""The order of results: by relevance to a question, by strength without one."""

import re
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from fleet_memory.rules.guard.identifiers import identifiers
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern

LessonT_co = TypeVar("LessonT_co", bound=Pattern | KnowledgeRow, covariant=True)

STRENGTH_BOOST: Final = 0.05  # of relevance 0..1: strength settles near ties, never a clear difference
ALIKE_WITHOUT_WORDS: Final = 0.30  # cosine; Source: docs/recall.md, measured
NO_VECTOR: Final = -1.0  # the cosine of a lesson without a comparable vector
CHANCE_WORDS: Final = 0.20  # a share of a question that texts have by chance; Source: docs/decisions/recall-fusion.md
MAX_WORDS_SHARE: Final = 0.90  # all words of a question, in any order, are not yet its answer; Source: the same
FITS_WELL: Final = 0.20  # relevance, a score without strength; Source: docs/recall.md, measured
MIN_RELEVANCE: Final = 0.02  # of a match in words, unless it has no vector: less is chance; Source: docs/recall.md

MAX_NAMES: Final = 20  # of a question that are looked up in each text; chosen: more than a question has

_QUOTED: Final = re.compile(
    r"(?<!\w)(?:([`\"])(.+?)\1|'((?:[^']|(?<=\w)'(?=\w)){3,}?)')(?!\w)"  # three: rock 'n' roll
)
_CAMEL: Final = re.compile(r"[a-z]+[A-Z][a-z]")  # createStore; neither GitHub nor macOS, which many lessons name
_WORD: Final = re.compile(r"\w")
_CODE: Final = re.compile(r"\b[A-Z]\w*(?:-[A-Z]\w*)+|\w+(?:::\w+)+|\b[A-Z]{6,}\b")  # X-Id, std::vector, ECONNRESET


class Terms(NamedTuple):
    """The terms that a score recomputes from (docs/recall.md); without a question the strength alone."""

    strength: float
    semantic: float | None = None
    words: float | None = None
    identifiers: float | None = None


class PooledLesson(NamedTuple, Generic[LessonT_co]):
    """A lesson or an entry that may be shown, and its strength 0..1."""

    lesson: LessonT_co
    strength: float


class Match(NamedTuple, Generic[LessonT_co]):
    """A lesson or an entry that fits, its score and the terms that it recomputes from."""

    lesson: LessonT_co
    score: float
    terms: Terms


class Ranked(NamedTuple):
    """Positions best first, with each one's score and the terms it recomputes from."""

    position: int
    score: float
    terms: Terms


def fits_well(best: Sequence[Match[LessonT_co]] | Sequence[Ranked]) -> bool:
    """Whether the first of `best` (best first, ranked by a question) is about what it asks; False for no match."""
    return bool(best) and _relevance(best[0]) >= FITS_WELL


def by_strength(strengths: Sequence[float]) -> list[Ranked]:
    """Rank by strength alone; equal strengths keep their order."""
    order = sorted(range(len(strengths)), key=lambda i: -strengths[i])
    return [Ranked(i, round(strengths[i], 4), Terms(strength=round(strengths[i], 4))) for i in order]


def by_relevance(
    cosines: Sequence[float],
    words: Sequence[float],
    identifiers: Sequence[float],
    strengths: Sequence[float],
    min_relevance: float = MIN_RELEVANCE,
) -> list[Ranked]:
    """Rank by meaning or words, lessons with the question's identifiers first; chance matches are left out.

    `cosines` to the question (`NO_VECTOR` where none is comparable: any word then suffices), `words` 0..1
    (`word_scores`), `identifiers` 0..1 (`identifier_shares`), all of one pool. score = 1 - (1 - semantic) x (1 - words)
    + identifiers + 0.05 x strength, where semantic is the cosine squared, and words 0.9 x (share - 0.2) / 0.8, at least
    0. The rest of the pool decides how rare a word is and which identifiers are known, nothing else.
    Of equal scores, the one with an identifier comes first. A match in words below `min_relevance` is chance.
    Source: docs/decisions/recall-fusion.md.
    """
    ranked = [_ranked(at, *each) for at, each in enumerate(zip(cosines, words, identifiers, strengths, strict=True))]
    matching = [one for one in ranked if _is_match(one, cosines[one.position], words[one.position], min_relevance)]
    return sorted(matching, key=lambda one: (-one.score, -(one.terms.identifiers or 0.0)))


def _is_match(ranked: Ranked, cosine: float, words: float, min_relevance: float) -> bool:
    if ranked.terms.identifiers or cosine >= ALIKE_WITHOUT_WORDS:
        return True
    return words > 0 and (_relevance(ranked) >= min_relevance or cosine == NO_VECTOR)


def _ranked(position: int, cosine: float, words: float, identified: float, strength: float) -> Ranked:
    terms = Terms(
        semantic=round(max(0.0, cosine) ** 2, 4),
        words=round(MAX_WORDS_SHARE * max(0.0, words - CHANCE_WORDS) / (1 - CHANCE_WORDS), 4),
        identifiers=round(identified, 4),
        strength=round(strength, 4),
    )
    return Ranked(position, recomputed(terms), terms)


def _relevance(match: Match[LessonT_co] | Ranked) -> float:
    """Return the score of a match without its strength."""
    return round(match.score - STRENGTH_BOOST * match.terms.strength, 4)


def recomputed(terms: Terms) -> float:
    """Return the score that these terms give."""
    if terms.semantic is None or terms.words is None:
        return terms.strength
    relevance = 1 - (1 - terms.semantic) * (1 - terms.words)
    return round(relevance + (terms.identifiers or 0.0) + STRENGTH_BOOST * terms.strength, 4)


def identifier_shares(question: str, texts: Sequence[str]) -> list[float]:
    """Return per text the share of the question's identifiers that it contains, of those in any text.

    Identifiers are names in code (`named_in`), as written but for capitals: `main.py` is in a text with
    `src/main.py`, `v2` in none with `v21`. The first `MAX_NAMES` count. All 0 for a question without identifiers.
    """
    folded = [text.casefold() for text in texts]
    holders = []
    for name in dict.fromkeys(name.casefold() for name in named_in(question)[:MAX_NAMES]):
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        holding = [name in text and bool(whole.search(text)) for text in folded]
        if any(holding):
            holders.append(holding)
    return [sum(each) / len(holders) for each in zip(*holders, strict=True)] if holders else [0.0] * len(texts)


def named_in(text: str) -> Sequence[str]:
    """Return the names of things in code in a text, each once: headers, words in six capitals, and all that is quoted.

    E.g. `named_in("Does `stock` read X-Request-Id of amount_cents?") == ["stock", "X-Request-Id", "amount_cents"]`.
    """
    coded = (name.text for name in identifiers(text) if not name.text.isalpha() or _CAMEL.match(name.text))
    quoted = (words or single for _, words, single in _QUOTED.findall(text))
    names = (*quoted, *_CODE.findall(text), *coded)
    return list(dict.fromkeys(name.strip() for name in names if _WORD.search(name)))
