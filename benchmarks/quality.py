"""How often the similarity rules are right, on our own pairs and on development sets that are not in this repository.

    python benchmarks/quality.py [--eval DIR]

Prints one markdown table per question. Our own pairs are lessons.tsv (kind, domain, a, b); thirds.tsv tells each `same`
one in a third wording (lesson, third). The other sets, by file name: probe60.tsv (kind, a, b), sick_trial.tsv (score,
nli, a, b), stsb_dev.tsv (score, a, b), lint_pairs.tsv (code, src, a, b), lint_corpus.json (code: text). Takes about a
minute.
"""

import argparse
import csv
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from open_world import DRAWS, Lesson, Tally, decided, drawn, told_by_projects, told_by_three, told_by_two_of_three
from retrieval import RETRIEVAL, cost_rows, retrieval_rows, vector_scores, vectors

from fleet_memory.rules.guard import objection
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.similarity.minilm import MiniLM

Row: TypeAlias = dict[str, str]
Pair: TypeAlias = tuple[str, str]
Floats: TypeAlias = NDArray[np.floating]
Score: TypeAlias = Callable[[Sequence[str], Sequence[str]], Floats]  # questions and texts to questions by texts

BESIDE: Final = Path(__file__).parent
OPEN_WORLD: Final = ("engine", "open world", "precision", "recall", "recall with offered", "offered per true")


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
        return rows_of(folder / name)

    corpus = json.loads((folder / "lint_corpus.json").read_text(encoding="utf-8"))
    return Sets(rows("probe60.tsv"), rows("sick_trial.tsv"), rows("stsb_dev.tsv"), rows("lint_pairs.tsv"), corpus)


def rows_of(path: Path) -> Sequence[Row]:
    """Return the rows of a tab-separated file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


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


def columns(sets: Sets) -> NDArray[np.intp]:
    """Return which text of the corpus each lint pair ought to find."""
    place = {code: at for at, code in enumerate(sets.corpus)}
    return np.array([place[row["code"]] for row in sets.lint])


def lint_scores(sets: Sets, score: Score) -> Floats:
    """Return every `a` of lint against the whole corpus."""
    return score([row["a"] for row in sets.lint], list(sets.corpus.values()))


class World(NamedTuple):
    """Programs that are drawn anew `draws` times from `texts`."""

    name: str
    draws: int
    programs: Callable[[int], Sequence[Sequence[Lesson]]]
    texts: Iterable[str]


def decision_rows(worlds: Sequence[World], engines: Sequence[Embedder]) -> Iterable[tuple[str | float, ...]]:
    """Yield per engine and world what consolidation decides about its programs."""
    texts = sorted({text for world in worlds for text in world.texts})
    place = {text: at for at, text in enumerate(texts)}
    for engine in engines:
        known = vectors(engine, texts)
        for world in worlds:
            tally = Tally()
            for draw in range(world.draws):
                programs = world.programs(draw)
                rows = known[[place[lesson.text] for program in programs for lesson in program]]
                tally = tally.plus(decided(programs, rows, engine.profile))
            yield engine.name, *tally.row(world.name)


def lint_worlds(sets: Sets) -> list[World]:
    """Return two and three programs that learnt lint rules; in the dense ones two have them from one project."""
    told = [(row["code"], row["a"], sets.corpus[row["code"]]) for row in sets.lint]
    strangers = list(sets.corpus.values())
    texts = {*(text for _, *both in told for text in both), *strangers}
    pylint = {row["code"] for row in sets.lint if row["src"] == "pylint"}
    projects = [pair for pair in told if pair[0] in pylint], [pair for pair in told if pair[0] not in pylint]
    return [
        *(
            World(f"lint {left} x {right}", draws, partial(drawn, told, strangers, (left, right)), texts)
            for left, right, draws in ((60, 60, DRAWS), (25, 40, DRAWS), (220, 790, 10))
        ),
        World("lint 60 x 60 x 60", DRAWS, partial(told_by_projects, projects, strangers, 60), texts),
        World("lint 60 x 60 x 60, dense", DRAWS, partial(told_by_two_of_three, told, strangers, 60), texts),
    ]


def own_worlds(rows: Sequence[Row]) -> list[World]:
    """Return three programs of which each tells a quarter of our lessons in words of its own, and two of the three."""
    third = {row["lesson"]: row["third"] for row in rows_of(BESIDE / "thirds.tsv")}
    triples = [(row["a"], row["b"], third[row["a"]]) for row in rows if row["kind"] == "same"]
    strangers = [row[side] for row in rows if row["kind"] == "near" for side in ("a", "b")]
    texts = [*strangers, *(text for triple in triples for text in triple)]
    three = partial(told_by_three, triples, strangers, 40)
    return [
        World("ours 40 x 40", DRAWS, lambda draw: three(draw)[:2], texts),
        World("ours 40 x 40 x 40", DRAWS, three, texts),
    ]


def own_rows(rows: Sequence[Row], engines: Sequence[Embedder]) -> Iterable[tuple[str | float, ...]]:
    """Yield per engine what becomes of pairs when one program learnt every `a` and another every `b`."""
    left = [Lesson(row["a"], str(at), row.get("domain", "one")) for at, row in enumerate(rows)]
    right = [Lesson(row["b"], str(at), row.get("domain", "one")) for at, row in enumerate(rows)]
    for engine in engines:
        both = vectors(engine, [lesson.text for lesson in (*left, *right)])
        for kind in sorted({row["kind"] for row in rows}):
            alone = [row["kind"] != kind for row in rows]
            truth = [
                said._replace(meaning=f"not {said.meaning}") if not_it else said
                for said, not_it in zip(right, alone, strict=True)
            ]
            tally = decided((left, truth), both, engine.profile)
            yield engine.name, kind, tally.true, tally.right, tally.offered_right


def best_rows(rows: Sequence[Row], engines: Sequence[Embedder]) -> Iterable[tuple[str, float, float, float]]:
    """Yield per engine, for a bare cosine on our own pairs: AUC of the same against all others, best F1, P at R .5."""
    truth = np.array([row["kind"] == "same" for row in rows])
    for engine in engines:
        scores = cosines(engine, pairs(rows))
        right = np.cumsum(truth[np.argsort(-scores, kind="stable")])
        precision, recall = right / np.arange(1, len(rows) + 1), right / truth.sum()
        best = (2 * precision * recall / np.maximum(precision + recall, 1e-9)).max()
        yield engine.name, auc(scores[truth], scores[~truth]), float(best), float(precision[recall >= 0.5].max())


def own_tables(rows: Sequence[Row], engines: Sequence[Embedder]) -> None:
    """Print the tables that need no other set."""
    header = ("engine", "kind", "pairs", "merged", "offered")
    table("Our own pairs: what consolidation decides", header, own_rows(rows, engines))
    found = decision_rows(own_worlds(rows), engines)
    table("Our own lessons in three wordings: what consolidation decides, a quarter shared", OPEN_WORLD, found)
    bare = ("engine", "AUC same, others", "best F1", "precision at recall .5")
    table("Our own pairs: a bare cosine", bare, best_rows(rows, engines))
    flagged = [
        (kind, len(found), float(np.mean([objection(*pair) is not None for pair in found])))
        for kind in ("same", "near", "contra")
        if (found := pairs(row for row in rows if row["kind"] == kind))
    ]
    table("Our own pairs: share that the guard objects to", ("kind", "pairs", "objects"), flagged)
    same = [row for row in rows if row["kind"] == "same"]
    texts = [*(row["b"] for row in same), *(row["b"] for row in rows if row["kind"] != "same")]
    found = retrieval_rows([row["a"] for row in same], texts, np.arange(len(same)), engines)
    table("Ranking: one of our lessons among 220, asked for in other words", RETRIEVAL, found)
    table("What one operation costs", ("engine", "operation", "milliseconds", "x the guard"), cost_rows(rows, engines))


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description="Measure the similarity rules.")
    parser.add_argument("--eval", type=Path, metavar="DIR", help="folder that holds the other sets")
    folder = parser.parse_args().eval
    engines: list[Embedder] = [MiniLM(), Lexical()]
    own_tables(rows_of(BESIDE / "lessons.tsv"), engines)
    if folder is not None:
        other_tables(read(folder), engines)


def other_tables(sets: Sets, engines: Sequence[Embedder]) -> None:
    """Print the tables of the sets that are not in this repository."""
    found = decision_rows(lint_worlds(sets), engines)
    table("Lint: what consolidation decides, a fifth shared", OPEN_WORLD, found)
    table(
        "probe60: what consolidation decides",
        ("engine", "kind", "pairs", "merged", "offered"),
        own_rows(sets.probe, engines),
    )
    table("Guard: share of pairs it objects to", ("pairs", "n", "objects", "wanted"), guard_rows(sets))
    header = ("engine", "probe60: AUC same, near", "lint: AUC same, nearest other", "STS-B dev: Spearman")
    table("Pairs", header, pair_rows(sets, engines))
    questions = [row["a"] for row in sets.lint]
    found = retrieval_rows(questions, list(sets.corpus.values()), columns(sets), engines)
    table("Ranking: a lint rule among 970, asked for in other words", RETRIEVAL, found)


if __name__ == "__main__":
    main()
