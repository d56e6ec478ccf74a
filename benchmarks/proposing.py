"""The cost of proposing pairs as a fleet grows, and how much of an exact comparison the cells of a
large fleet keep.

    python benchmarks/proposing.py [--lessons 10000,20000,50000,100000] [--per-program 100] [--seed
    7]

Lessons are made of the project's own sentences as MiniLM sees them: each is one sentence with
something of a second and without something of a third, so that pairs of strangers are as alike as
real ones; three in ten repeat an earlier one in other words. Prints a markdown table, each row
measured in a process of its own, and fails when 100,000 lessons take 600 MB or more than 12 times
the work of 10,000, or when a size keeps less than .98 of the pairs that a sample of 400 lessons
proposes in an exact comparison. Work counts the multiplications of all matrix products; processor
time on one core stands next to it.
"""

import argparse
import ast
import os
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple, ParamSpec, TypeVar
from unittest.mock import patch

import anyio
import numpy as np

from fleet_memory.rules.consensus.cells import (
    CENTRES_PER_ROOT,
    MAIN_AXES,
    ROUNDS,
    SAMPLES_PER_CENTRE,
    Cells,
    cells,
)
from fleet_memory.rules.consensus.comparison import Comparison, Indices
from fleet_memory.rules.consensus.proposing import proposals
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.similarity.minilm import MiniLM

P = ParamSpec("P")
T = TypeVar("T")
ROOT: Final = Path(__file__).parent.parent
MAX_MB: Final = 600
MAX_RATIO: Final = 12.0
MIN_KEPT: Final = 0.98
SAMPLE: Final = 1_000  # lessons whose partners are compared exactly too
BASE: Final = 10_000  # lessons whose work the ratio divides by
SEED: Final = 7
REWORDED: Final = (
    0.3  # of the lessons repeat an earlier one in other words: a cosine of .6 to .9 to it
)
_SENTENCE: Final = re.compile(r"[A-Z`][^.|\n]{25,200}\.")


class Cost(NamedTuple):
    """One row of the table; `kept` is the share of the sample's exact pairs that the whole run
    proposes too.
    """

    lessons: int
    programs: int
    cpu_s: float
    work: float
    peak_mb: float
    pairs: int
    kept: float


def main() -> int:
    """Print the table and return 0 when every goal is met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--lessons", default="10000,20000,50000,100000", help="sizes, separated by commas"
    )
    parser.add_argument("--per-program", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED, help="another draw of the lessons")
    asked = parser.parse_args()
    sizes = sorted({BASE, *map(int, asked.lessons.split(","))})
    os.environ.update(
        dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    )  # waiting threads count as work
    with tempfile.TemporaryDirectory() as folder:
        in_own_process(make_lessons, Path(folder), max(sizes), asked.seed)
        return compared(Path(folder), sizes, asked.per_program)


def in_own_process(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Call a function in a fresh process: its memory is its own, and not the parent's."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *args, **options).result()


def compared(folder: Path, sizes: list[int], per_program: int) -> int:
    """Print a row for each size; return 0 when every goal is met."""
    print(
        "| lessons | programs | CPU s | × 10,000 | work, × 10,000 | peak MB | pairs | kept "
        f"|\n|{'--:|' * 8}"
    )
    base, good = None, True
    for size in sizes:
        cost = in_own_process(measured, folder, size, per_program)
        base = base or cost  # the first size is BASE
        work = cost.work / base.work
        good &= (
            cost.kept >= MIN_KEPT
            and cost.peak_mb < MAX_MB
            and work <= MAX_RATIO * max(1, size / (10 * BASE))
        )
        times = f"{cost.cpu_s:.1f} | {cost.cpu_s / base.cpu_s:.1f} | {work:.1f}"
        rest = f"{cost.peak_mb:.0f} | {cost.pairs:,} | {cost.kept:.4f}"
        print(f"| {cost.lessons:,} | {cost.programs:,} | {times} | {rest} |", flush=True)
    return 0 if good else 1


def measured(folder: Path, size: int, per_program: int) -> Cost:
    """Return the cost of proposing for all of the first `size` lessons, every one of them new."""
    rows = np.load(folder / "rows.npy")[:size]
    texts = (folder / "texts.txt").read_text(encoding="utf-8").splitlines()[:size]
    lessons = [_lesson(position, text, per_program) for position, text in enumerate(texts)]
    profile = MiniLM.profile
    with counted_work() as work:
        began = time.process_time()
        found = proposals(lessons, rows, range(size), profile)
        cpu_s = time.process_time() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pairs = {(pair.a, pair.b) for pair in found}
    sample = range(0, size, max(1, size // SAMPLE))
    exact = {(pair.a, pair.b) for pair in proposals(lessons, rows, sample, profile)}
    return Cost(
        size,
        -(-size // per_program),
        cpu_s,
        work.total(),
        peak_mb,
        len(found),
        len(exact & pairs) / len(exact),
    )


@contextmanager
def counted_work() -> Iterator[Counter[str]]:
    """Count the multiplications of two matrices, n×d by d×m as n × m × d, while the context
    lasts.
    """
    work: Counter[str] = Counter()
    cosines, near, make = Comparison.cosines, Cells.cosines, cells

    def counting_cosines(fleet: Comparison, one: Indices, other: Indices) -> Vectors:
        work["lessons"] += len(one) * len(other) * fleet.rows.shape[1]
        return cosines(fleet, one, other)

    def counting_near(made: Cells, one: Indices, other: Indices) -> Vectors:
        work["near"] += len(one) * len(other) * made.rows.shape[1]
        return near(made, one, other)

    def counting_cells(fleet: Comparison, least: float) -> Cells:
        made = make(fleet, least)
        lessons, numbers = len(made.lessons), fleet.rows.shape[1]
        count = int(CENTRES_PER_ROOT * lessons**0.5)
        sample, regions = SAMPLES_PER_CENTRE * count, int(count**0.5 / 2)
        placing = (ROUNDS + 1) * sample * regions + ROUNDS * sample * count // regions
        work["cells"] += (lessons * count + placing) * MAIN_AXES
        work["axes"] += (lessons * made.rows.shape[1] + sample * numbers) * numbers
        return made

    with (
        patch.object(Comparison, "cosines", counting_cosines),
        patch.object(Cells, "cosines", counting_near),
        patch(f"{proposals.__module__}.cells", counting_cells),
    ):
        yield work


def _lesson(position: int, text: str, per_program: int) -> ComparableLesson:
    place = f"program-{position // per_program:05}", f"lesson-{position:07}"
    return ComparableLesson(*place, "one", text, text_hash(f"{text} {position}"))


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
