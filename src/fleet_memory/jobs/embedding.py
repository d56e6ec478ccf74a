"""The vectors of lessons: one for comparing them, one for the questions that they answer."""

from collections.abc import Sequence

from fleet_memory.rules.text.context import LessonVectors, context_text, search_vector
from fleet_memory.rules.text.vectors import packed
from fleet_memory.similarity import Embedder


async def lesson_vectors(embedder: Embedder, lessons: Sequence[tuple[str, str, str]]) -> list[LessonVectors]:
    """Return the vectors of n lessons, each as (text, domain, evidence). Raises EmbedderError as the embedder does."""
    contexts = [context_text(domain, evidence) for _, domain, evidence in lessons]
    rows = iter(await embedder.vectors([*(text for text, _, _ in lessons), *filter(None, contexts)]))
    texts = [next(rows) for _ in lessons]
    return [
        LessonVectors(packed(text), search_vector(text, next(rows)) if context else "")
        for text, context in zip(texts, contexts, strict=True)
    ]
