"""How often the similarity rules are right, measured on development sets that are not in this repository.

    python benchmarks/quality.py --eval DIR

Prints one markdown table per question. The sets, by file name: probe60.tsv (kind, a, b), sick_trial.tsv (score, nli, a,
b), stsb_dev.tsv (score, a, b), lint_pairs.tsv (code, src, a, b), lint_corpus.json (code: text). Takes about 10 s.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import anyio
import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.guard import objection
from fleet_memory.similarity import Embedder, Vectors
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.similarity.onnx import MiniLM
from fleet_memory.similarity.words import word_scores

Row: TypeAlias = dict[str, str]
Pair: TypeAlias = tuple[str, str]
Floats: TypeAlias = NDArray[np.floating]
Score: TypeAlias = Callable[[Sequence[str], Sequence[str]], Floats]  # questions and texts to questions by texts


class Sets(NamedTuple):
    """The development sets, as read."""

    probe: Sequence[Row]
    sick: Sequence[Row]
    stsb: Sequence[Row]
    lint: Sequence[Row]
    corpus: dict[str, str]


def read(folder: Path) -> Sets:
    """Read every set; raises OSError, which names the file, when one is missing."""

    def rows(name: str) -> Sequence[Row]:
        with (folder / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    corpus = json.loads((folder / "lint_corpus.json").read_text(encoding="utf-8"))
    return Sets(rows("probe60.tsv"), rows("sick_trial.tsv"), rows("stsb_dev.tsv"), rows("lint_pairs.tsv"), corpus)


def pairs(rows: Iterable[Row]) -> list[Pair]:
    """Return the texts of each row."""
    return [(row["a"], row["b"]) for row in rows]


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> None:
    """Print a markdown table; floats with three digits."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in row)} |")


def guard_rows(sets: Sets) -> Iterable[tuple[str, int, float, str]]:
    """Yield per set: its name, how many pairs, the share the guard objects to, and the share wanted."""
    kinds = [
        ("probe60, contradiction", [row for row in sets.probe if row["kind"] == "contra"], "1"),
        ("probe60, same in other words", [row for row in sets.probe if row["kind"] == "para"], "0"),
        ("probe60, near topic", [row for row in sets.probe if row["kind"] == "diff"], "0"),
        ("SICK trial, contradiction", [row for row in sets.sick if row["nli"] == "CONTRADICTION"], ">= .75"),
        ("SICK trial, entailment >= 4.5", [row for row in close(sets.sick) if row["nli"] == "ENTAILMENT"], "<= .01"),
        ("STS-B dev >= 4.5", close(sets.stsb), "<= .04"),
        ("lint, same rule", sets.lint, "<= .13"),
    ]
    for name, rows, wanted in kinds:
        yield name, len(rows), float(np.mean([objection(*pair) is not None for pair in pairs(rows)])), wanted


def close(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that people scored 4.5 or more of 5."""
    return [row for row in rows if float(row["score"]) >= 4.5]


def guard_speed(sets: Sets) -> float:
    """Return microseconds a pair, each text seen for the first time."""
    found = pairs([*sets.probe, *sets.lint, *sets.sick])
    begin = time.perf_counter()
    for pair in found:
        objection(*pair)
    return (time.perf_counter() - begin) / len(found) * 1e6


def vectors(engine: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the engine's vectors, outside of an event loop."""
    return anyio.run(engine.vectors, texts)


def cosines(engine: Embedder, found: Sequence[Pair]) -> Floats:
    """Return the cosine of each pair."""
    left, right = (vectors(engine, side) for side in zip(*found, strict=True))
    return np.asarray((left * right).sum(1))


def auc(same: Floats, near: Floats) -> float:
    """Return how often a pair that is the same scores above one that is only near; .5 is chance."""
    above, tied = same[:, None] > near, same[:, None] == near
    return float((above + 0.5 * tied).mean())


def spearman(scores: Floats, truth: Floats) -> float:
    """Return the rank correlation, ties sharing their mean rank."""

    def ranks(values: Floats) -> Floats:
        _, place, count = np.unique(values, return_inverse=True, return_counts=True)
        return np.asarray((np.cumsum(count) - (count - 1) / 2)[place])

    return float(np.corrcoef(ranks(scores), ranks(truth))[0, 1])


def pair_rows(sets: Sets, engines: Sequence[Embedder]) -> Iterable[tuple[str, float, float, float]]:
    """Yield per engine: AUC of probe60's same against near, of lint's rule against its nearest other, STS-B."""
    for engine in engines:
        kinds = np.array([row["kind"] for row in sets.probe])
        probe = cosines(engine, pairs(sets.probe))
        scores = lint_scores(sets, partial(vector_scores, engine))
        own = scores[np.arange(len(sets.lint)), columns(sets)]
        scores[np.arange(len(sets.lint)), columns(sets)] = -1
        truth = np.array([float(row["score"]) for row in sets.stsb])
        yield (
            engine.name,
            auc(probe[kinds == "para"], probe[kinds == "diff"]),
            auc(own, scores.max(1)),
            spearman(cosines(engine, pairs(sets.stsb)), truth),
        )


def vector_scores(engine: Embedder, questions: Sequence[str], texts: Sequence[str]) -> Floats:
    """Return questions by texts: cosines."""
    return np.asarray(vectors(engine, questions) @ vectors(engine, texts).T)


def bm25_scores(questions: Sequence[str], texts: Sequence[str]) -> Floats:
    """Return questions by texts: word scores."""
    return np.stack([word_scores(question, texts) for question in questions])


def columns(sets: Sets) -> NDArray[np.intp]:
    """Return which text of the corpus each lint pair ought to find."""
    place = {code: at for at, code in enumerate(sets.corpus)}
    return np.array([place[row["code"]] for row in sets.lint])


def lint_scores(sets: Sets, score: Score) -> Floats:
    """Return every `a` of lint against the whole corpus."""
    return score([row["a"] for row in sets.lint], list(sets.corpus.values()))


def retrieval_rows(sets: Sets, engines: Sequence[Embedder]) -> Iterable[tuple[str | float, ...]]:
    """Yield per way of ranking: mean reciprocal rank, and the share found among the first 1, 5 and 10."""
    ways: list[tuple[str, Score]] = [(engine.name, partial(vector_scores, engine)) for engine in engines]
    for name, score in [*ways, ("words (BM25)", bm25_scores)]:
        scores = lint_scores(sets, score)
        own = scores[np.arange(len(sets.lint)), columns(sets)]
        rank = 1 + (scores > own[:, None]).sum(1)
        yield name, float((1 / rank).mean()), *(float((rank <= k).mean()) for k in (1, 5, 10))


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description="Measure the similarity rules on development sets.")
    parser.add_argument("--eval", type=Path, required=True, metavar="DIR", help="folder that holds the sets")
    sets = read(parser.parse_args().eval)
    engines: list[Embedder] = [MiniLM(), Lexical()]
    print(f"guard: {guard_speed(sets):.0f} microseconds a pair")
    table("Guard: share of pairs it objects to", ("pairs", "n", "objects", "wanted"), guard_rows(sets))
    header = ("engine", "probe60: AUC same, near", "lint: AUC same, nearest other", "STS-B dev: Spearman")
    table("Pairs", header, pair_rows(sets, engines))
    table("Retrieval: lint among 970", ("by", "MRR", "R@1", "R@5", "R@10"), retrieval_rows(sets, engines))


if __name__ == "__main__":
    main()
