"""How well ranking finds a lesson that is asked for in other words, and what one operation costs.

    python benchmarks/retrieval.py [--eval DIR]

Prints markdown tables: our own lessons (lessons.tsv), the sets of sets.py, and the costs.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from quality import Lesson, asked
from sets import FOLDER, Row, Sets, read_sets, rows_of, table, vectors

from fleet_memory.rules.guard import objection
from fleet_memory.rules.retrieval.ranking import by_relevance
from fleet_memory.rules.text.vectors import Vectors, packed
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.bm25 import word_scores
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.similarity.minilm import MiniLM

Floats: TypeAlias = NDArray[np.floating]
Score: TypeAlias = Callable[[Sequence[str], Sequence[str]], Floats]  # questions and texts to questions by texts

RETRIEVAL: Final = ("by", "MRR", "R@1", "R@5", "R@10")
ROUNDS: Final = 5  # the best of these is the cost: what else ran costs time, never saves any


def main() -> None:
    """Print every table."""
    sets = read_sets("Measure ranking.")
    rows = rows_of(FOLDER / "lessons.tsv")
    engines: list[Embedder] = [MiniLM(), Lexical()]
    same = [row for row in rows if row["kind"] == "same"]
    texts = [*(row["b"] for row in same), *(row["b"] for row in rows if row["kind"] != "same")]
    found = retrieval_rows([row["a"] for row in same], texts, np.arange(len(same)), engines)
    table(f"One of our lessons among {len(texts)}", RETRIEVAL, found)
    if sets is not None:
        table(f"A lint rule among {len(sets.corpus)}", RETRIEVAL, lint_rows(sets, engines))
    table("What one operation costs", ("engine", "operation", "milliseconds", "x the guard"), cost_rows(rows, engines))


def lint_rows(sets: Sets, engines: Sequence[Embedder]) -> Iterable[tuple[str | float, ...]]:
    """Yield `RETRIEVAL` for every `a` of lint against the whole corpus."""
    place = {code: at for at, code in enumerate(sets.corpus)}
    right = np.array([place[row["code"]] for row in sets.lint])
    yield from retrieval_rows([row["a"] for row in sets.lint], list(sets.corpus.values()), right, engines)


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


def cost_rows(rows: Sequence[Row], engines: Sequence[Embedder]) -> Iterable[tuple[str, str, float, float]]:
    """Yield per engine and operation the milliseconds it takes, and how many guarded pairs that is."""
    texts = [row[side] for row in rows for side in ("a", "b")]
    guard = _cost(lambda turn: [objection(f"{row['a']} {turn}", row["b"]) for row in rows]) / len(rows)
    pool = [f"{text} {number}" for number in range(3) for text in texts][:1000]
    told = [Lesson(text, text) for text in texts[:120]]
    for engine in engines:
        known, question = vectors(engine, pool), vectors(engine, ["which task may I claim?"])[0]
        packs = dict(zip(texts, map(packed, vectors(engine, texts)), strict=True))
        operations: Mapping[str, Callable[[int], object]] = {
            "embed a text": partial(_embedded, engine, texts[0]),
            "propose for 120 lessons": partial(_proposed, told, packs, engine),
            "rank 1,000 lessons": partial(_ranked, pool, known, question),
        }
        yield engine.name, "guard a pair", guard * 1e3, 1.0
        for name, work in operations.items():
            cost = _cost(work)
            yield engine.name, name, cost * 1e3, cost / guard


def _embedded(engine: Embedder, text: str, turn: int) -> Vectors:
    return vectors(engine, [f"{text} {turn}"])


def _proposed(told: Sequence[Lesson], packs: Mapping[str, str], engine: Embedder, _turn: int) -> object:
    return asked((told[:60], told[60:]), packs, engine.name, engine.profile)


def _ranked(pool: Sequence[str], known: Vectors, question: Vectors, _turn: int) -> object:
    return by_relevance(list(known @ question), list(word_scores("which task may I claim?", pool)), [0.8] * len(pool))


def _cost(work: Callable[[int], object]) -> float:
    """Return seconds; `work` is told which turn it is, so that nothing is remembered from the last."""
    taken = []
    for turn in range(ROUNDS):
        begin = time.perf_counter()
        work(turn)
        taken.append(time.perf_counter() - begin)
    return min(taken)


if __name__ == "__main__":
    main()
