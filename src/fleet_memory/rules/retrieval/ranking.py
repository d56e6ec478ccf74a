"""What comes first: by relevance when there is a question, by strength when there is none."""

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern

Scores: TypeAlias = NDArray[np.float64]
LessonT_co = TypeVar("LessonT_co", bound=Pattern | KnowledgeRow, covariant=True)

STRENGTH_BOOST: Final = 0.05  # of relevance 0..1: strength settles near ties, never a clear difference
ALIKE_WITHOUT_WORDS: Final = 0.30  # cosine; Source: docs/recall.md, measured

FITS_WELL: Final = 0.60  # a score; Source: docs/recall.md


class Terms(NamedTuple):
    """The terms that a score recomputes from (docs/recall.md); without a question the strength alone."""

    strength: float
    semantic: float | None = None
    words: float | None = None


class PooledLesson(NamedTuple, Generic[LessonT_co]):
    """A lesson or an entry that may be shown, and its strength 0..1."""

    lesson: LessonT_co
    strength: float


class Match(NamedTuple, Generic[LessonT_co]):
    """A lesson or an entry that fits, its score and the terms that it recomputes from."""

    lesson: LessonT_co
    score: float
    terms: Terms


def fits_well(best: Sequence[Match[LessonT_co]]) -> bool:
    """Whether the first of `best` (best first, ranked by a question) plausibly answers it; False for no match."""
    return bool(best) and best[0].score >= FITS_WELL


class Ranked(NamedTuple):
    """Positions best first, with each one's score and the terms it recomputes from."""

    position: int
    score: float
    terms: Terms


def by_strength(strengths: Sequence[float]) -> list[Ranked]:
    """Rank by strength alone; equal strengths keep their order."""
    order = sorted(range(len(strengths)), key=lambda i: -strengths[i])
    return [Ranked(i, round(strengths[i], 4), Terms(strength=round(strengths[i], 4))) for i in order]


def by_relevance(cosines: Sequence[float], words: Sequence[float], strengths: Sequence[float]) -> list[Ranked]:
    """Rank by half meaning, half words, boosted by strength; what matches neither is left out.

    `cosines` to the question (-1 where there is no comparable vector), `words` 0..1 (`word_scores`), all of one pool.
    score = 0.5 x semantic + 0.5 x words + 0.05 x strength, semantic min-max scaled to 0..1 over the pool.
    """
    meaning, said = _scaled(np.asarray(cosines)), np.asarray(words)
    matching = [i for i in range(len(cosines)) if words[i] > 0 or cosines[i] >= ALIKE_WITHOUT_WORDS]
    ranked = [_ranked(i, float(meaning[i]), float(said[i]), strengths[i]) for i in matching]
    return sorted(ranked, key=lambda one: -one.score)


def _ranked(position: int, semantic: float, words: float, strength: float) -> Ranked:
    terms = Terms(semantic=round(semantic, 4), words=round(words, 4), strength=round(strength, 4))
    return Ranked(position, recomputed(terms), terms)


def recomputed(terms: Terms) -> float:
    """Return the score that these terms give."""
    if terms.semantic is None or terms.words is None:
        return terms.strength
    return round(0.5 * terms.semantic + 0.5 * terms.words + STRENGTH_BOOST * terms.strength, 4)


def _scaled(cosines: Scores) -> Scores:
    known = cosines[cosines > -1]
    if not len(known):
        return np.zeros(len(cosines))
    spread = float(np.ptp(known)) or 1.0
    lowest = float(known.min()) if len(known) > 1 else 0.0
    return np.clip((cosines - lowest) / spread, 0.0, 1.0)
