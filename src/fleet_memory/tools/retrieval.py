"""Ranking by the fleet's embedder, and the note of an answer in which nothing fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypeVar

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.retrieval.ranking import (
    NO_VECTOR,
    Match,
    Scores,
    by_relevance,
    by_strength,
    fits_well,
    identifier_shares,
)
from fleet_memory.rules.text.vectors import Vectors, cosines, int8_matrix, np
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.similarity.words import word_scores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_T = TypeVar("_T", bound=Pattern | KnowledgeRow)


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


def ranked(pool: Sequence[_T], strengths: ArrayLike, question: Question | None) -> list[Match[_T]]:
    """Return the pool best first: by relevance to the question, or without one by strength.

    `strengths` 0..1 of the pool.
    """
    if question is None:
        return by_strength(pool, strengths)
    texts = [lesson.searched_text for lesson in pool]
    words, names = word_scores(question.text, texts), identifier_shares(question.text, texts)
    return by_relevance(pool, _cosines_to(question, pool), words, names, strengths)


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


Scope: TypeAlias = Literal["own", "shared", "all"]
NEAREST: Final = "Nothing fits well; the nearest come first."
EMPTY: Final = "Nothing is stored there yet."
UNMATCHED: Final = "Nothing matched. Try another query, fewer filters or a wider scope."
MAX_DOMAINS_CHARS: Final = (
    60  # of the domains that a note names; a note fits into the smallest budget
)
MAX_SUGGESTIONS_CHARS: Final = 200  # of the close names of an answer, likewise


def finding_note(best: Sequence[Match[_T]], *, asked: bool, domains: Iterable[str]) -> str | None:
    """Return that nothing fits a question well, or how to go on when nothing was found at all; else
    None.

    `domains` has one for each lesson of the scope.
    """
    if best:
        return NEAREST if asked and not fits_well(best) else None
    common = [name for name, _ in Counter(sorted(domains)).most_common()]
    if not common:
        return EMPTY
    named = ", ".join(fitting_names(common, MAX_DOMAINS_CHARS))
    return f"{UNMATCHED} Domains: {named}." if named else UNMATCHED


def fitting_names(names: Sequence[str], max_chars: int) -> tuple[str, ...]:
    """Return the first names that have at most so many characters together, with two between
    each.
    """
    lengths = accumulate(len(name) + 2 for name in names)
    return tuple(
        name for name, length in zip(names, lengths, strict=True) if length - 2 <= max_chars
    )
