"""The cost of proposing pairs as a fleet grows.

    python benchmarks/proposing.py [--lessons 5000,10000,20000] [--new N] [--per-program 100]
    [--seed 7]

Lessons are made of the project's own sentences as MiniLM sees them: each is one sentence with
something of a second and without something of a third, so that pairs of strangers are as alike as
real ones; three in ten repeat an earlier one in other words. All are new, or the last N. Prints a
markdown table, each row measured in a process of its own, and fails at 1,000 MB.
"""

import argparse
import ast
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple, ParamSpec, TypeVar

import anyio
import numpy as np

from fleet_memory.rules.proposing import Comparison
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.similarity.minilm import MiniLM

P = ParamSpec("P")
T = TypeVar("T")
ROOT: Final = Path(__file__).parent.parent
MAX_MB: Final = 1_000
SEED: Final = 7
REWORDED: Final = (
    0.3  # of the lessons repeat an earlier one in other words: a cosine of .6 to .9 to it
)
_SENTENCE: Final = re.compile(r"[A-Z`][^.|\n]{25,200}\.")


class Cost(NamedTuple):
    """One row of the table."""

    lessons: int
    new: int
    seconds: float
    processor: float
    """Seconds of all cores."""
    peak_mb: float
    pairs: int


def main() -> int:
    """Print the table and return 0 when the goal is met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lessons", default="5000,10000,20000", help="sizes, with commas")
    parser.add_argument("--new", type=int, default=0, help="how many are new; 0: all")
    parser.add_argument("--per-program", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED, help="another draw of the lessons")
    asked = parser.parse_args()
    sizes = [*map(int, asked.lessons.split(","))]
    with tempfile.TemporaryDirectory() as folder:
        in_own_process(make_lessons, Path(folder), max(sizes), asked.seed)
        print(f"| lessons | new | s | s of processor | peak MB | pairs |\n|{'--:|' * 6}")
        worst = 0.0
        for size in sizes:
            new = asked.new or size
            cost = in_own_process(measured, Path(folder), size, new, asked.per_program)
            figures = f"{cost.seconds:.2f} | {cost.processor:.2f} | {cost.peak_mb:.0f}"
            print(f"| {cost.lessons:,} | {cost.new:,} | {figures} | {cost.pairs:,} |", flush=True)
            worst = max(worst, cost.peak_mb)
    return int(worst >= MAX_MB)


def in_own_process(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Call a function in a fresh process: its memory is its own, and not the parent's."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *args, **options).result()


def measured(folder: Path, size: int, new: int, per_program: int) -> Cost:
    """Return the cost of proposing for the last `new` of the first `size` lessons."""
    rows = np.load(folder / "rows.npy")[:size]
    texts = (folder / "texts.txt").read_text(encoding="utf-8").splitlines()[:size]
    lessons = [
        ComparableLesson(
            f"program-{position // per_program:05}",
            f"lesson-{position:07}",
            "one",
            text,
            text_hash(f"{text} {position}"),
            vector=row.tobytes(),
            embedder=MiniLM.name,
        )
        for position, (text, row) in enumerate(zip(texts, rows, strict=True))
    ]
    wanted = {lesson.place for lesson in lessons[size - new :]}
    began, processor = time.perf_counter(), time.process_time()
    compared = Comparison(lessons, MiniLM.name, MiniLM.profile)
    found = [pair for block in compared.blocks(wanted) for pair in compared.partners(block)]
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pairs = len({(pair.a.place, pair.b.place) for pair in found})
    return Cost(size, new, seconds, processor, peak_mb, pairs)


def make_lessons(folder: Path, size: int, seed: int = SEED) -> None:
    """Write `size` lessons: rows.npy with their int8 vectors, texts.txt with a text in each
    line.
    """
    known = sentences()
    base = anyio.run(MiniLM().vectors, known)
    random = np.random.default_rng(seed)
    one, two, three = random.integers(len(known), size=(3, size))
    rows = base[one] + 0.6 * base[two] - 0.25 * base[three]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    sources = (random.random(size) * np.arange(size)).astype(int)
    strength = random.uniform(0.35, 1.0, size=(size, 1)).astype(np.float32)
    for position in np.flatnonzero(random.random(size) < REWORDED).tolist():
        source = sources[position]
        rows[position] = rows[source] + strength[position] * (
            base[two[position]] - base[three[position]]
        )
        one[position] = one[source]
    np.save(
        folder / "rows.npy",
        np.rint(rows * (127 / np.abs(rows).max(1, keepdims=True))).astype(np.int8),
    )
    (folder / "texts.txt").write_text(
        "".join(f"{known[at]}\n" for at in one.tolist()), encoding="utf-8"
    )


def sentences() -> list[str]:
    """Return some 3,000 sentences of the project: its example lessons, its documentation and its
    docstrings.
    """
    found: set[str] = set()
    for name in ("lessons.tsv", "thirds.tsv"):
        lines = (ROOT / "benchmarks" / name).read_text(encoding="utf-8").splitlines()
        found.update(text for line in lines[1:] for text in line.split("\t") if " " in text)
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        found.update(_SENTENCE.findall(path.read_text(encoding="utf-8")))
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                found.update(_SENTENCE.findall(ast.get_docstring(node) or ""))
    return sorted(found)


if __name__ == "__main__":
    sys.exit(main())
