"""The vectors of lessons: one for comparing them, one for the questions that they answer."""

from collections.abc import Sequence

from fleet_memory.rules.text.context import LessonVectors, search_vector
from fleet_memory.rules.text.vectors import Vectors, packed
from fleet_memory.schemas.search_vectors import context_text, search_mark
from fleet_memory.similarity import Embedder


async def lesson_vectors(embedder: Embedder, lessons: Sequence[tuple[str, str, str]]) -> list[LessonVectors]:
    """Return the vectors of n lessons, each as (text, domain, evidence); of an engine without a share no search vector.

    Raises EmbedderError as the embedder does.
    """
    share = embedder.profile.context_share
    contexts = [context_text(domain, evidence) if share else "" for _, domain, evidence in lessons]
    rows = await embedder.vectors([*(text for text, _, _ in lessons), *filter(None, contexts)])
    met = iter(rows[len(lessons) :])

    def of_questions(text: str, row: Vectors, context: str) -> str:
        return search_vector(row, next(met), share, search_mark(embedder.name, text, context)) if context else ""

    return [
        LessonVectors(packed(row), of_questions(text, row, context))
        for (text, _, _), row, context in zip(lessons, rows[: len(lessons)], contexts, strict=True)
    ]
