"""The pairs of texts that quality.py and retrieval.py measure, and the tables that they print.

Our own are lessons.tsv (kind, domain, a, b) and thirds.tsv, with a third wording of each `same` one
(lesson, third). The other sets, by file name, are not in this repository: probe60.tsv (kind, a, b),
sick_trial.tsv (score, nli, a, b), stsb_dev.tsv (score, a, b), lint_pairs.tsv (code, src, a, b),
lint_corpus.json (code: text).
"""

import argparse
import csv
import json
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import anyio
import numpy as np

from fleet_memory.rules.text.vectors import Vectors, packed, search_vector, unit_row
from fleet_memory.similarity import Embedder

Row: TypeAlias = dict[str, str]

FOLDER: Final = Path(__file__).parent


class Sets(NamedTuple):
    """The sets that are not in this repository."""

    probe: Sequence[Row]
    sick: Sequence[Row]
    stsb: Sequence[Row]
    lint: Sequence[Row]
    corpus: Mapping[str, str]


def read_sets(purpose: str) -> Sets | None:
    """Return the other sets if the command line names their folder."""
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--eval", type=Path, metavar="DIR", help="folder that holds the other sets")
    folder: Path | None = parser.parse_args().eval
    if folder is None:
        return None
    names = ("probe60.tsv", "sick_trial.tsv", "stsb_dev.tsv", "lint_pairs.tsv")
    corpus = json.loads((folder / "lint_corpus.json").read_text(encoding="utf-8"))
    probe, sick, stsb, lint = (rows_of(folder / name) for name in names)
    return Sets(probe, sick, stsb, lint, corpus)


def rows_of(path: Path) -> Sequence[Row]:
    """Return the rows of a tab-separated file. Raises OSError, which names the file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> None:
    """Print a markdown table; floats with three digits."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        cells = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)
        print(f"| {' | '.join(cells)} |", flush=True)


def vectors(engine: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the engine's vectors, outside of an event loop."""
    return anyio.run(engine.vectors, texts)


def searched(engine: Embedder, texts: Sequence[str], contexts: Sequence[str]) -> Vectors:
    """Return the vectors that questions to n lessons meet; without contexts those of their
    texts.
    """
    rows = vectors(engine, texts)
    if not any(contexts):
        return rows
    met, share = (
        zip(rows, contexts, vectors(engine, contexts), strict=True),
        engine.profile.context_share,
    )
    blobs = [
        search_vector(row, context, share, "") if text else packed(row)
        for row, text, context in met
    ]
    return np.stack([unit_row(b64decode(blob)) for blob in blobs])
