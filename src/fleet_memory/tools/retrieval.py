"""Ranking that several tools share: it needs the fleet's embedder."""

from collections.abc import Iterable, Sequence

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.retrieval.ranking import (
    MIN_RELEVANCE,
    NO_VECTOR,
    LessonT_co,
    Match,
    PooledLesson,
    by_relevance,
    by_strength,
    identifier_shares,
)
from fleet_memory.rules.text.vectors import packed_chars, unpacked
from fleet_memory.schemas.knowledge import KnowledgeRow, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.similarity.words import word_scores
from fleet_memory.views.lessons import has_foreign_key


async def ranked(
    fleet: Fleet,
    pool: Sequence[PooledLesson[LessonT_co]],
    query: str | None,
    min_relevance: float = MIN_RELEVANCE,
) -> list[Match[LessonT_co]]:
    """Return the pool best first: by relevance to the query, matches only; without a query by strength.

    A match in words below `min_relevance` is none, unless it has no vector.
    """
    strengths = [pooled.strength for pooled in pool]
    if query is None:
        order = by_strength(strengths)
    else:
        lessons = [pooled.lesson for pooled in pool]
        texts = [_words_of(lesson) for lesson in lessons]
        cosines = await _cosines_to(fleet, query, lessons)
        words, names = list(word_scores(query, texts)), identifier_shares(query, texts)
        order = by_relevance(cosines, words, names, strengths, min_relevance)
    return [Match(pool[one.position].lesson, one.score, one.terms) for one in order]


def _words_of(lesson: Pattern | KnowledgeRow) -> str:
    """Return the text that a question's words are found in: with a lesson's evidence, or an entry's other wordings."""
    more = (lesson.evidence,) if isinstance(lesson, Pattern) else lesson.wordings
    return " ".join((lesson.pattern, lesson.domain, *more))


def _vector_of(lesson: Pattern | KnowledgeRow) -> str:
    """Return the vector that a question is compared with: that of an entry's wordings too, where it has one."""
    mean = lesson.reading_vector if isinstance(lesson, KnowledgeRow) else ""
    return mean or lesson.vector


async def _cosines_to(fleet: Fleet, text: str, lessons: Sequence[Pattern | KnowledgeRow]) -> list[float]:
    """Return each lesson's cosine to `text`, `NO_VECTOR` where its vector is another embedder's or missing."""
    cosines = [NO_VECTOR] * len(lessons)
    try:
        row = (await fleet.embedder.vectors([text]))[0]
    except EmbedderError:
        return cosines  # words still rank; `similarityEngine` and the server's log show that the engine is down
    name, length = fleet.embedder.name, packed_chars(len(row))  # an endpoint may change its model behind one name
    vectors = list(map(_vector_of, lessons))
    known = [i for i, lesson in enumerate(lessons) if lesson.embedder == name and len(vectors[i]) == length]
    if known:
        for i, cosine in zip(known, unpacked([vectors[i] for i in known]) @ row, strict=True):
            cosines[i] = float(cosine)
    return cosines


async def keys_for(fleet: Fleet, lessons: Iterable[Pattern], snapshot: Snapshot | None = None) -> frozenset[str]:
    """Return the keys that agents have read, none unless one of these lessons needs them to show its own.

    Billed as the snapshot, unless it is given or no lesson does.
    """
    if not any(map(has_foreign_key, lessons)):
        return frozenset()
    rows = (snapshot or await fleet.knowledge.snapshots.read()).rows
    return frozenset(row.key for row in rows if not row.never_published)
