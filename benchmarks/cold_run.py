"""What the first run of a maintainer costs on a SQLite file of many lessons, and how long it keeps others waiting.

    python benchmarks/cold_run.py [--lessons 10000,50000] [--per-program 100]

The lessons are those of proposing.py, all of them new. Prints a markdown table, each row measured in a process of its
own: peak memory, and the longest time for which the event loop was not free for another call.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import numpy as np
from proposing import in_own_process, make_lessons

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore

NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
TICK_S: Final = 0.005


class Cost(NamedTuple):
    """One row of the table; `longest_ms` is the longest time that another task waited for the event loop."""

    lessons: int
    cpu_s: float
    peak_mb: float
    opened: int
    longest_ms: float
    blocked: float

    def row(self) -> str:
        """Return the row as markdown."""
        waits = f"{self.longest_ms:.0f} | {self.blocked:.2f}"
        return f"| {self.lessons:,} | {self.cpu_s:.1f} | {self.peak_mb:.0f} | {self.opened:,} | {waits} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lessons", default="10000,50000", help="sizes, separated by commas")
    parser.add_argument("--per-program", type=int, default=100)
    asked = parser.parse_args()
    sizes = sorted(map(int, asked.lessons.split(",")))
    print(f"| lessons | CPU s | peak MB | pairs opened | longest wait, ms | share of time over 50 ms |\n|{'--:|' * 6}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_own_process(make_lessons, folder, max(sizes))
        for size in sizes:
            in_own_process(fill, folder, size, asked.per_program)
            print(in_own_process(measured, folder, size).row(), flush=True)


def fill(folder: Path, size: int, per_program: int) -> None:
    """Write a memory of so many lessons that nobody has considered yet."""
    anyio.run(_fill, folder, size, per_program)


async def _fill(folder: Path, size: int, per_program: int) -> None:
    async with _opened(folder, size) as fleet:
        for program in _programs(folder, size, per_program):
            (before,) = await fleet.programs.read_versioned(program.program_id)
            await fleet.programs.store.commit(*fleet.programs.writes(before, program))


def _programs(folder: Path, size: int, per_program: int) -> Iterator[Program]:
    rows = np.load(folder / "rows.npy", mmap_mode="r")
    texts = (folder / "texts.txt").read_text(encoding="utf-8").splitlines()
    for start in range(0, size, per_program):
        places = range(start, min(start + per_program, size))
        patterns = {f"lesson-{at:07}": _pattern(f"{texts[at]} Case {at}", packed(rows[at]), at) for at in places}
        yield Program(
            program_id=f"program-{start // per_program:05}",
            patterns=patterns,
            pending=tuple(patterns),
            last_update=NOW,
        )


def _pattern(text: str, vector: str, at: int) -> Pattern:
    return Pattern(
        id=f"lesson-{at:07}",
        domain="one",
        pattern=text,
        confidence=0.8,
        evidence="seen twice last week",
        discovered_at=NOW,
        last_reinforced=NOW,
        stored_at=NOW,
        words=text_hash(text),
        vector=vector,
        embedder=MiniLM().name,
    )


def measured(folder: Path, size: int) -> Cost:
    """Return the cost of a cold run."""
    return anyio.run(_measured, folder, size)


async def _measured(folder: Path, size: int) -> Cost:
    gaps: list[float] = []
    async with _opened(folder, size) as fleet, anyio.create_task_group() as tasks:
        tasks.start_soon(_tick, gaps)
        began, cpu_began = time.perf_counter(), time.process_time()
        report = await maintain_fleet(fleet, no_progress)
        cpu_s, taken_s = time.process_time() - cpu_began, time.perf_counter() - began
        tasks.cancel_scope.cancel()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert report.waiting == size
    blocked = sum(gap for gap in gaps if gap > 0.05) / taken_s
    return Cost(size, cpu_s, peak_mb, report.opened, max(gaps) * 1000, blocked)


async def _tick(gaps: list[float]) -> None:
    """Note how long each turn of the event loop took, until cancelled."""
    while True:
        began = time.perf_counter()
        await anyio.sleep(TICK_S)
        gaps.append(time.perf_counter() - began - TICK_S)


@asynccontextmanager
async def _opened(folder: Path, size: int) -> AsyncIterator[Fleet]:
    store = SqliteStore(folder / f"memory-{size}.db")
    try:
        yield Fleet.on(store, "default", MiniLM(), lambda: NOW)
    finally:
        await store.close()


if __name__ == "__main__":
    main()
