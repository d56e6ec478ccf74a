"""Ranking that several tools share: it needs the fleet's embedder."""

from collections.abc import Iterable, Sequence

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
from fleet_memory.rules.text.vectors import cosines
from fleet_memory.schemas.knowledge import KnowledgeRow, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.similarity.words import word_scores
from fleet_memory.views.lessons import has_foreign_key


async def ranked(
    fleet: Fleet,
    pool: Sequence[Pattern | KnowledgeRow],
    strengths: ArrayLike,
    query: str | None,
    min_relevance: float = MIN_RELEVANCE,
) -> Ranking:
    """Return the pool best first: by relevance to the query, matches only; without a query by strength.

    `strengths` 0..1 of the pool. A match in words below `min_relevance` is none, unless it has no vector.
    """
    if query is None:
        return by_strength(strengths)
    meant = await _cosines_to(fleet, query, pool)
    texts = [lesson.searched_text for lesson in pool]
    words, names = word_scores(query, texts), identifier_shares(query, texts)
    return by_relevance(meant, words, names, strengths, min_relevance)


async def _cosines_to(fleet: Fleet, text: str, lessons: Sequence[Pattern | KnowledgeRow]) -> Scores:
    """Return each lesson's cosine to `text`, `NO_VECTOR` where its vector is another embedder's or missing."""
    meant = np.full(len(lessons), NO_VECTOR)
    try:
        row = (await fleet.embedder.vectors([text]))[0]
    except EmbedderError:
        return meant  # words still rank; `similarityEngine` and the server's log show that the engine is down
    name = fleet.embedder.name
    vectors = [lesson.searched_vector if lesson.embedder == name else b"" for lesson in lessons]
    known = [at for at, vector in enumerate(vectors) if len(vector) == len(row)]  # one name may change its model
    numbers = np.frombuffer(b"".join(vectors[at] for at in known), np.int8)
    meant[known] = cosines(numbers.reshape(-1, len(row)), row)
    return meant


async def keys_for(fleet: Fleet, lessons: Iterable[Pattern], snapshot: Snapshot | None = None) -> frozenset[str]:
    """Return the keys that agents have read, none unless one of these lessons needs them to show its own.

    Billed as the snapshot, unless it is given or no lesson does.
    """
    if not any(map(has_foreign_key, lessons)):
        return frozenset()
    rows = (snapshot or await fleet.knowledge.snapshots.read()).rows
    return frozenset(row.key for row in rows if not row.never_published)
