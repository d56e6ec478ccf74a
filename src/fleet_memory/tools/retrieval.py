"""Ranking that several tools share: it needs the fleet's embedder."""

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.retrieval.ranking import (
    MIN_RELEVANCE,
    NO_VECTOR,
    Ranking,
    Scores,
    by_relevance,
    by_strength,
    identifier_shares,
)
from fleet_memory.rules.text.vectors import Vectors, cosines, int8_matrix
from fleet_memory.schemas.knowledge import KnowledgeRow, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.similarity.words import word_scores
from fleet_memory.views.lessons import has_foreign_key


class Question(NamedTuple):
    """A question, its vector and the name of the engine that made it; no vector while the engine is
    down.
    """

    text: str
    vector: Vectors | None
    embedder: str


async def embed_question(fleet: Fleet, query: str | None) -> Question | None:
    """Return a question with its vector, None for none."""
    if query is None:
        return None
    try:
        vector = (await fleet.embedder.vectors([query]))[0]
    except EmbedderError:
        # words still rank; `similarityEngine` and the server's log show that the engine is down
        vector = None
    return Question(query, vector, fleet.embedder.name)


def ranked(
    pool: Sequence[Pattern | KnowledgeRow],
    strengths: ArrayLike,
    question: Question | None,
    min_relevance: float = MIN_RELEVANCE,
) -> Ranking:
    """Return the pool best first: by relevance to the question, matches only; without a question by
    strength.

    `strengths` 0..1 of the pool. A match in words below `min_relevance` is none, unless it has no
    vector.
    """
    if question is None:
        return by_strength(strengths)
    texts = [lesson.searched_text for lesson in pool]
    words, names = word_scores(question.text, texts), identifier_shares(question.text, texts)
    return by_relevance(_cosines_to(question, pool), words, names, strengths, min_relevance)


def _cosines_to(question: Question, pool: Sequence[Pattern | KnowledgeRow]) -> Scores:
    """Return each lesson's cosine to a question, `NO_VECTOR` where its vector is another embedder's
    or missing.
    """
    result = np.full(len(pool), NO_VECTOR)
    if question.vector is None:
        return result
    vectors = [
        lesson.searched_vector if lesson.embedder == question.embedder else b"" for lesson in pool
    ]
    lengths = np.fromiter(map(len, vectors), np.intp, len(pool))
    known = lengths == len(question.vector)  # an endpoint may change its model behind one name
    result[known] = cosines(int8_matrix([*compress(vectors, known)]), question.vector)
    return result


async def keys_for(
    fleet: Fleet, lessons: Iterable[Pattern], snapshot: Snapshot | None = None
) -> frozenset[str]:
    """Return the keys that agents have read, none unless one of these lessons needs them to show
    its own.

    Billed as the snapshot, unless it is given or no lesson does.
    """
    if not any(map(has_foreign_key, lessons)):
        return frozenset()
    rows = (snapshot or await fleet.knowledge.snapshots.read()).rows
    return frozenset(row.key for row in rows if not row.never_published)
