"""How well ranking finds a lesson that is asked for in other words, and what one operation costs."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import anyio
import numpy as np
from numpy.typing import NDArray
from open_world import Lesson, decided

from fleet_memory.rules.guard import objection
from fleet_memory.rules.retrieval.ranking import by_relevance
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.similarity import Profile
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.bm25 import word_scores

Floats: TypeAlias = NDArray[np.floating]
Score: TypeAlias = Callable[[Sequence[str], Sequence[str]], Floats]  # questions and texts to questions by texts

RETRIEVAL: Final = ("by", "MRR", "R@1", "R@5", "R@10")
ROUNDS: Final = 5  # the best of these is the cost: what else ran costs time, never saves any


def vectors(engine: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the engine's vectors, outside of an event loop."""
    return anyio.run(engine.vectors, texts)


def vector_scores(engine: Embedder, questions: Sequence[str], texts: Sequence[str]) -> Floats:
    """Return questions by texts: cosines."""
    return np.asarray(vectors(engine, questions) @ vectors(engine, texts).T)


def bm25_scores(questions: Sequence[str], texts: Sequence[str]) -> Floats:
    """Return questions by texts: word scores."""
    return np.stack([word_scores(question, texts) for question in questions])


def fused_scores(engine: Embedder, questions: Sequence[str], texts: Sequence[str]) -> Floats:
    """Return questions by texts: the scores of recall, for lessons of equal strength; -1 for what it leaves out."""
    scores = np.full((len(questions), len(texts)), -1.0)
    meant, said = vector_scores(engine, questions, texts), bm25_scores(questions, texts)
    for row, (cosines, words) in enumerate(zip(meant, said, strict=True)):
        for one in by_relevance(list(cosines), list(words), [0.8] * len(texts)):
            scores[row, one.position] = one.score
    return scores


def retrieval_rows(
    questions: Sequence[str], texts: Sequence[str], right: NDArray[np.intp], engines: Sequence[Embedder]
) -> Iterable[tuple[str | float, ...]]:
    """Yield per way of ranking: mean reciprocal rank, and the share found among the first 1, 5 and 10.

    `right[i]` is which text question i asks for. What recall leaves out has no rank.
    """
    ways: list[tuple[str, Score]] = [("words (BM25)", bm25_scores)]
    for engine in engines:
        ways += [(f"{engine.name}, cosine", partial(vector_scores, engine))]
        ways += [(f"{engine.name}, as recall ranks", partial(fused_scores, engine))]
    for name, score in ways:
        scores = score(questions, texts)
        own = scores[np.arange(len(questions)), right]
        rank = np.where(own < 0, np.inf, 1 + (scores > own[:, None]).sum(1))
        yield name, float((1 / rank).mean()), *(float((rank <= k).mean()) for k in (1, 5, 10))


def cost_rows(
    rows: Sequence[Mapping[str, str]], engines: Sequence[Embedder]
) -> Iterable[tuple[str, str, float, float]]:
    """Yield per engine and operation the milliseconds it takes, and how many guarded pairs that is."""
    texts = [row[side] for row in rows for side in ("a", "b")]
    guard = _cost(lambda turn: [objection(f"{row['a']} {turn}", row["b"]) for row in rows]) / len(rows)
    pool = [f"{text} {number}" for number in range(3) for text in texts][:1000]
    told = [Lesson(text, text) for text in texts[:120]]
    for engine in engines:
        known, asked = vectors(engine, pool), vectors(engine, ["which task may I claim?"])[0]
        operations: Mapping[str, Callable[[int], object]] = {
            "embed a text": partial(_embedded, engine, texts[0]),
            "compare 60 lessons with 60": partial(_compared, told, known, engine.profile),
            "rank 1,000 lessons": partial(_ranked, pool, known, asked),
        }
        yield engine.name, "guard a pair", guard * 1e3, 1.0
        for name, work in operations.items():
            cost = _cost(work)
            yield engine.name, name, cost * 1e3, cost / guard


def _embedded(engine: Embedder, text: str, turn: int) -> Vectors:
    return vectors(engine, [f"{text} {turn}"])


def _compared(told: Sequence[Lesson], known: Vectors, profile: Profile, _turn: int) -> object:
    return decided((told[:60], told[60:120]), known[:120], profile)


def _ranked(pool: Sequence[str], known: Vectors, asked: Vectors, _turn: int) -> object:
    return by_relevance(list(known @ asked), list(word_scores("which task may I claim?", pool)), [0.8] * len(pool))


def _cost(work: Callable[[int], object]) -> float:
    """Return seconds; `work` is told which turn it is, so that nothing is remembered from the last."""
    taken = []
    for turn in range(ROUNDS):
        begin = time.perf_counter()
        work(turn)
        taken.append(time.perf_counter() - begin)
    return min(taken)
