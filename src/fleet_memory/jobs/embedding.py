"""The vectors of lessons: one for comparing them, one for the questions that they answer."""

from collections.abc import Sequence

from fleet_memory.rules.text.vectors import LessonVectors, Vectors, packed, search_vector
from fleet_memory.schemas.search_vectors import context_text, search_mark
from fleet_memory.similarity import Embedder


async def lesson_vectors(
    embedder: Embedder, lessons: Sequence[tuple[str, str, str]]
) -> list[LessonVectors]:
    """Return the vectors of n lessons, each as (text, domain, evidence); of an engine without a
    share no search vector.

    Raises EmbedderError as the embedder does.
    """
    texts = [text for text, _, _ in lessons]
    contexts = [context_text(domain, evidence) for _, domain, evidence in lessons]
    asked = list(filter(None, contexts)) if embedder.profile.context_share else []
    rows = await embedder.vectors([*texts, *asked])
    share = embedder.profile.context_share  # of the engine that has answered
    met = dict(zip(asked, rows[len(texts) :], strict=True)) if share else {}

    def of_questions(text: str, row: Vectors, context: str) -> str:
        return search_vector(row, met[context], share, search_mark(embedder.name, text, context))

    return [
        LessonVectors(packed(row), of_questions(text, row, context) if context in met else "")
        for text, row, context in zip(texts, rows[: len(texts)], contexts, strict=True)
    ]
