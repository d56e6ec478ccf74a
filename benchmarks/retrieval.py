"""How well recall finds the text that answers a question, and the cost of one operation.

    python benchmarks/retrieval.py [--eval DIR] [--held-out]

Prints a table for each set of questions.py: by words alone (BM25), by meaning alone, and as recall
ranks. Exits with 1 when recall finds less in the first five than the better of the two, less .02,
or an identifier alone less than .98 first. A text that does not answer and has an equal score
counts half. Then how often something fits well: for the questions of stories, and for those that
nothing answers.
"""

import argparse
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from quality import Lesson, asked
from questions import (
    STORIES,
    Asked,
    asked_of,
    contexts,
    held_out_sets,
    lesson_texts,
    other_sets,
    own_sets,
)
from sets import FOLDER, Row, rows_of, searched, table, vectors
from story import Story, read_story

from fleet_memory.rules.retrieval.ranking import Match, by_relevance, fits_well, identifier_shares
from fleet_memory.rules.text.vectors import Vectors, packed
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.similarity.words import STOP_WORDS, word_scores

Floats: TypeAlias = NDArray[np.floating]
Score: TypeAlias = Callable[
    [Asked, Floats], Floats
]  # cosines to scores, questions by texts; -1: not found

RETRIEVAL: Final = ("by", "MRR", "hit@1", "hit@5", "hit@10")
FITTING: Final = (
    "story",
    "of questions with an answer",
    "of those near a lesson",
    "of those far from all",
)
ROUNDS: Final = 5  # the best of these is the cost: other processes cost time, never save any
ALLOWANCE: Final = (
    0.02  # of hit@5, below the better of words and meaning: about one question of fifty
)
MIN_IDENTIFIERS_FIRST: Final = 0.98


def main() -> None:
    """Print every table; exit with 1 when recall misses a gate."""
    parser = argparse.ArgumentParser(description="Measure ranking.")
    parser.add_argument("--eval", type=Path, metavar="DIR", help="folder that holds the other sets")
    parser.add_argument(
        "--held-out", action="store_true", help="also the stories that nothing was chosen on"
    )
    args = parser.parse_args()
    engine = MiniLM()
    sets = [
        *own_sets(),
        *(held_out_sets() if args.held_out else ()),
        *(other_sets(args.eval) if args.eval else ()),
    ]
    missed = []
    for name in dict.fromkeys(one.name for one in sets):
        pools = [one for one in sets if one.name == name]
        rows = [*retrieval_rows(pools, engine)]
        size = (
            f"{sum(len(one.questions) for one in pools)} of {sum(len(one.texts) for one in pools)}"
        )
        table(f"{name[0].upper()}{name[1:]} ({size} texts)", RETRIEVAL, rows)
        missed += [name] if misses_gate(name, rows) else []
    ours = [next(iter(own_sets()))]
    table("One of our lessons, without a model", RETRIEVAL, retrieval_rows(ours, Lexical()))
    paths = [
        *sorted(STORIES.glob("*.json")),
        *(sorted(STORIES.glob("held_out/*.json")) if args.held_out else ()),
    ]
    table("Share of questions that something fits well", FITTING, fitting_rows(paths, engine))
    costs = cost_rows(rows_of(FOLDER / "lessons.tsv"), [engine, Lexical()])
    table("What one operation costs", ("engine", "operation", "milliseconds"), costs)
    raise SystemExit(f"missed: {', '.join(missed)}" if missed else 0)


def misses_gate(name: str, rows: Sequence[tuple[str | float, ...]]) -> bool:
    """Return whether recall, the last of the `RETRIEVAL` rows, misses the gate of a set."""
    first, five = RETRIEVAL.index("hit@1"), RETRIEVAL.index("hit@5")
    *alone, recall = [tuple(float(cell) for cell in row[first:]) for row in rows]
    if name.startswith("an identifier") and recall[0] < MIN_IDENTIFIERS_FIRST:
        return True
    return recall[five - first] < max(one[five - first] for one in alone) - ALLOWANCE


def retrieval_rows(pools: Sequence[Asked], engine: Embedder) -> Sequence[tuple[str | float, ...]]:
    """Return per way of ranking: mean reciprocal rank, and the share found among the first 1, 5 and
    10.
    """
    cosines: Sequence[Floats] = [
        vectors(engine, one.questions) @ searched(engine, one.patterns, one.contexts).T
        for one in pools
    ]
    ways: tuple[tuple[str, Score], ...] = (
        ("words alone (BM25)", bm25_scores),
        (f"meaning alone ({engine.name})", lambda _pool, cosines: np.maximum(cosines, 0.0)),
        ("as recall ranks", recall_scores),
    )
    rows: list[tuple[str | float, ...]] = []
    for name, score in ways:
        rank = np.concatenate(
            [ranks(score(one, known), one.right) for one, known in zip(pools, cosines, strict=True)]
        )
        rows.append(
            (name, float((1 / rank).mean()), *(float((rank <= k).mean()) for k in (1, 5, 10)))
        )
    return rows


def ranks(scores: Floats, right: Sequence[Sequence[int]]) -> Floats:
    """Return each question's rank of the best text that answers it; inf when that is not found."""
    found = []
    for row, places in zip(scores, right, strict=True):
        best = row[list(places)].max()
        equal = (row == best).sum() - (row[list(places)] == best).sum()
        found.append(np.inf if best < 0 else 1 + (row > best).sum() + equal / 2)
    return np.array(found)


def bm25_scores(pool: Asked, _cosines: Floats) -> Floats:
    """Return BM25 over porter stems of the question without stop words, as SQLite's FTS5 has it."""
    scores = np.full((len(pool.questions), len(pool.texts)), -1.0)
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE pool USING fts5(text, tokenize='porter unicode61')")
        index.executemany("INSERT INTO pool(rowid, text) VALUES (?, ?)", enumerate(pool.texts))
        for row, question in zip(scores, pool.questions, strict=True):
            words = dict.fromkeys(re.findall(r"\w+", question.lower()))
            query = " OR ".join(
                f'"{word}"' for word in [word for word in words if word not in STOP_WORDS] or words
            )
            for place, score in index.execute(
                "SELECT rowid, -bm25(pool) FROM pool WHERE pool MATCH ?", (query,)
            ):
                row[place] = score
    return scores


def recall_scores(pool: Asked, cosines: Floats) -> Floats:
    """Return the scores of recall, for lessons of equal strength."""
    scores = np.full((len(pool.questions), len(pool.texts)), -1.0)
    for row, question, meant in zip(scores, pool.questions, cosines, strict=True):
        for one in recalled(question, pool.texts, meant):
            row[one.lesson] = one.score
    return scores


def recalled(question: str, texts: Sequence[str], cosines: Floats) -> Sequence[Match[int]]:
    """Return texts of equal strength as recall ranks them."""
    words, names = word_scores(question, texts), identifier_shares(question, texts)
    return by_relevance(range(len(texts)), list(cosines), list(words), names, [0.8] * len(texts))


def fitting_rows(paths: Iterable[Path], engine: Embedder) -> Iterable[tuple[str | float, ...]]:
    """Yield `FITTING` for stories with questions of asked/, and for all of them."""
    sums: dict[str, list[bool]] = {kind: [] for kind in FITTING[1:]}
    for path in paths:
        if asked := asked_of(path):
            story = read_story(path)
            questions = [(FITTING[1], one.question) for one in story.questions]
            questions += [(FITTING[2 if one.near else 3], one.question) for one in asked.unanswered]
            fits = {
                kind: fitting(story, [one for of, one in questions if of == kind], engine)
                for kind in sums
            }
            yield story.fleet, *(float(np.mean(fits[kind])) for kind in sums)
            sums = {kind: [*sums[kind], *fits[kind]] for kind in sums}
    yield "all", *(float(np.mean(fits)) for fits in sums.values())


def fitting(story: Story, questions: Sequence[str], engine: Embedder) -> Sequence[bool]:
    """Return whether recall takes the best of a story's lessons for an answer, for each
    question.
    """
    patterns = [lesson.pattern for lesson in story.lessons]
    cosines = vectors(engine, questions) @ searched(engine, patterns, contexts(story)).T
    texts = lesson_texts(story)
    return [
        fits_well(recalled(one, texts, known))
        for one, known in zip(questions, cosines, strict=True)
    ]


def cost_rows(rows: Sequence[Row], engines: Sequence[Embedder]) -> Iterable[tuple[str, str, float]]:
    """Yield per engine and operation the milliseconds it takes."""
    texts = [row[side] for row in rows for side in ("a", "b")]
    pool = [f"{text} {number}" for number in range(3) for text in texts][:1000]
    stored = [Lesson(text, text) for text in texts[:120]]
    for engine in engines:
        known, question = vectors(engine, pool), vectors(engine, ["which task may I claim?"])[0]
        packs = dict(zip(texts, map(packed, vectors(engine, texts)), strict=True))
        operations: Mapping[str, Callable[[int], object]] = {
            "embed a text": partial(_embedded, engine, texts[0]),
            "propose for 120 lessons": partial(_proposed, stored, packs, engine),
            "rank 1,000 lessons": partial(_ranked, pool, known, question),
        }
        for name, work in operations.items():
            cost = _cost(work)
            yield engine.name, name, cost * 1e3


def _embedded(engine: Embedder, text: str, turn: int) -> Vectors:
    return vectors(
        engine, [f"turn {turn}: {text}"]
    )  # not a text of the pool, whose vectors an engine may remember


def _proposed(
    stored: Sequence[Lesson], packs: Mapping[str, str], engine: Embedder, _turn: int
) -> object:
    return asked((stored[:60], stored[60:]), packs, engine.name, engine.profile)


def _ranked(pool: Sequence[str], known: Vectors, question: Vectors, _turn: int) -> object:
    return recalled("which task may I claim?", pool, known @ question)


def _cost(work: Callable[[int], object]) -> float:
    """Return seconds of CPU; `work` gets the number of its turn, so that nothing is remembered from
    the last.
    """
    taken = []
    for turn in range(ROUNDS):
        begin = time.process_time()
        work(turn)
        taken.append(time.process_time() - begin)
    return min(taken)


if __name__ == "__main__":
    main()
