"""The cost of a maintainer's first run on a SQLite file of many lessons, and how long it keeps
others waiting.

    python benchmarks/cold_run.py [--lessons 10000,50000] [--per-program 100] [--shared 0.02]
    [--calls]

The lessons are those of proposing.py, all of them new; `--shared` is the share of them that three
programs learnt in equal words. Prints a markdown table, each row measured in a process of its own:
peak memory, and the longest time for which the event loop was not free for another call. With
`--calls` the same server recalls and stores all the while, and a second table has how long these
calls take without a run and during it.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import numpy as np
from measuring import percentile
from proposing import in_own_process, make_lessons

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.patterns import NewPattern, Pattern, context_text, search_mark
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import recall_memory

NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
EVIDENCE: Final = "seen twice last week"
TICK_S: Final = 0.005
PAUSE_S: Final = 0.02  # between two calls
CALLS_WITHOUT: Final = 300  # calls of each kind without a run
SHARING: Final = 3  # programs that learnt a shared lesson
CALLS_HEAD: Final = (
    "| call | calls | p50 ms without a run | p99 | max | p50 during it | p99 | max | × p99 |\n|:--"
    + "|--:" * 8
    + "|"
)


class Calls(NamedTuple):
    """How long one kind of call took, in ms, without a run and during it."""

    name: str
    without: Sequence[float]
    during: Sequence[float]

    def __str__(self) -> str:
        """Return the row as markdown."""
        rows = [
            (percentile(times, 50), percentile(times, 99), max(times))
            for times in (self.without, self.during)
        ]
        figures = " | ".join(f"{value:.1f}" for row in rows for value in row)
        return f"| {self.name} | {len(self.during)} | {figures} | {rows[1][1] / rows[0][1]:.1f} |"


class Cost(NamedTuple):
    """One row of the table; `longest_ms` is the longest time that another task waited for the event
    loop.
    """

    lessons: int
    cpu_s: float
    peak_mb: float
    opened: int
    longest_ms: float
    blocked: float
    calls: Sequence["Calls"] = ()

    def row(self) -> str:
        """Return the row as markdown."""
        waits = f"{self.longest_ms:.0f} | {self.blocked:.2f}"
        return (
            f"| {self.lessons:,} | {self.cpu_s:.1f} | {self.peak_mb:.0f} | {self.opened:,} | "
            f"{waits} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lessons", default="10000,50000", help="sizes, separated by commas")
    parser.add_argument("--per-program", type=int, default=100)
    parser.add_argument(
        "--shared", type=float, default=0.0, help="share of the lessons that three programs learnt"
    )
    parser.add_argument(
        "--calls", action="store_true", help="measure calls of the same server during the run"
    )
    asked = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does
    sizes = sorted(map(int, asked.lessons.split(",")))
    print(
        "| lessons | CPU s | peak MB | pairs opened | longest wait, ms | share of time over "
        f"50 ms |\n|{'--:|' * 6}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_own_process(make_lessons, folder, max(sizes))
        for size in sizes:
            in_own_process(fill, folder, size, asked.per_program, asked.shared)
            cost = in_own_process(measured, folder, size, calls=asked.calls)
            print(cost.row(), flush=True)
            if asked.calls:
                print(f"\n{CALLS_HEAD}\n" + "\n".join(map(str, cost.calls)) + "\n", flush=True)


def fill(folder: Path, size: int, per_program: int, shared: float) -> None:
    """Write a memory of so many lessons that no run has considered yet."""
    anyio.run(_fill, folder, size, per_program, shared)


async def _fill(folder: Path, size: int, per_program: int, shared: float) -> None:
    async with _opened(folder, size) as fleet:
        for program in _programs(folder, size, per_program, shared):
            (before,) = await fleet.programs.read_versioned(program.program_id)
            await fleet.programs.store.commit(*fleet.programs.writes(before, program))


def _programs(folder: Path, size: int, per_program: int, shared: float) -> Iterator[Program]:
    rows = np.load(folder / "rows.npy", mmap_mode="r")
    texts = (folder / "texts.txt").read_text(encoding="utf-8").splitlines()
    sources = shared_places(size, per_program, shared)
    for start in range(0, size, per_program):
        places = range(start, min(start + per_program, size))
        said = {at: sources.get(at, at) for at in places}
        patterns = {
            f"lesson-{at:07}": _pattern(f"{texts[source]} Case {source}", packed(rows[source]), at)
            for at, source in said.items()
        }
        yield Program(
            program_id=f"program-{start // per_program:05}",
            patterns=patterns,
            pending=tuple(patterns),
            last_update=NOW,
        )


def shared_places(size: int, per_program: int, shared: float) -> dict[int, int]:
    """Return the places of the lessons that another program learnt in the same words, and the place
    of its words.
    """
    count = round(size * shared)
    in_each = round(per_program * shared * SHARING)
    slots = [start + at for start in range(0, size, per_program) for at in range(in_each)]
    return {at: slots[number % count] for number, at in enumerate(slots)} if count else {}


def _pattern(text: str, vector: str, at: int) -> Pattern:
    return Pattern(
        id=f"lesson-{at:07}",
        domain="one",
        pattern=text,
        confidence=0.8,
        evidence=EVIDENCE,
        discovered_at=NOW,
        last_reinforced=NOW,
        stored_at=NOW,
        words=text_hash(text),
        vector=vector,
        search_vector=search_mark(MiniLM.name, text, context_text("one", EVIDENCE)) + vector,
        embedder=MiniLM().name,
    )


def measured(folder: Path, size: int, *, calls: bool) -> Cost:
    """Return the cost of a cold run."""
    return anyio.run(_measured, folder, size, calls)


async def _measured(folder: Path, size: int, calls: bool) -> Cost:  # noqa: FBT001 - `anyio.run` passes positions
    gaps: list[float] = []
    async with _opened(folder, size) as fleet:
        without = await _called(fleet, CALLS_WITHOUT) if calls else {}
        during: dict[str, list[float]] = {name: [] for name in without}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tick, gaps)
            if calls:
                tasks.start_soon(_call, fleet, during)
            began, cpu_began = time.perf_counter(), time.process_time()
            report = await maintain_fleet(fleet, no_progress)
            cpu_s, taken_s = time.process_time() - cpu_began, time.perf_counter() - began
            tasks.cancel_scope.cancel()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    blocked = sum(gap for gap in gaps if gap > 0.05) / taken_s
    kinds = tuple(Calls(name, without[name], during[name]) for name in without)
    return Cost(size, cpu_s, peak_mb, report.opened, max(gaps) * 1000, blocked, kinds)


async def _called(fleet: Fleet, calls: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"recall": [], "store": []}
    await _call(fleet, times, calls)
    return times


async def _call(fleet: Fleet, times: dict[str, list[float]], calls: int | None = None) -> None:
    """Recall and store in turn, and note how many ms each took: so often, or until cancelled."""
    for number in islice(count(), calls):
        began = time.perf_counter()
        await recall_memory(fleet, "program-00000", query=f"deploy the cache of service {number}")
        times["recall"].append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        lesson = NewPattern(
            pattern=f"Deploy service {number} by its script",
            domain="ops",
            confidence=0.8,
            evidence="",
            id="mine",
        )
        await store_memory(fleet, f"caller-{number % 10}", lesson)
        times["store"].append((time.perf_counter() - began) * 1000)
        await anyio.sleep(PAUSE_S)


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
