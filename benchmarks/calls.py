"""The cost of each call over stdio, against a tool that does nothing, measured without a client library in the way.

    python benchmarks/calls.py [--rounds 100] [--lessons 1000,10000] [--sizes 10,100,500] [--entries 20,2000]
                               [--json FILE]

Each fleet has a server of its own. In each round every server gets one call of each kind, and before each of them a
bare `mcp` server gets one for its only tool, which does nothing: other load of the machine hits all of them. No
question is asked twice. Between two rounds another server of the same memory forgets the round's lessons, so that
a program keeps its size, and the first call of a round reads a program that another process has changed. Prints
markdown tables.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from made_fleet import FleetSize, forget_round, made_fleet, measured_calls
from measuring import Figures, Meter, Surroundings, markdown_table, surroundings, write_json
from rpc import Launch, RawServer
from startup import BARE

PER_PROGRAM: Final = 100  # where only the entries of the fleet vary
NOTHING: Final = "nothing"
BUDGETS: Final = {"store": 8.0, "recall with a query": 6.0, "recall, plain": 2.5, "reinforce": 3.0}
"""Times the tool that does nothing, with 100 lessons a program. Source: chosen."""
MAX_GROWTH: Final = 1.4  # times the budget, with 500 lessons a program. Source: chosen


@dataclass(frozen=True)
class CallRow:
    """One kind of call in one fleet; `times` is its p50 in p50s of the tool that does nothing, `cpu_times` the same."""

    fleet: FleetSize
    kind: str
    figures: Figures
    times: float
    cpu_times: float


@dataclass(frozen=True)
class CallsReport:
    """All that one run measured."""

    surroundings: Surroundings
    rounds: int
    nothing: Figures
    rows: Sequence[CallRow]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--lessons", default="1000", help="lessons of a fleet, separated by commas")
    parser.add_argument("--sizes", default="10,100,500", help="lessons of a program, separated by commas")
    parser.add_argument("--entries", default="20,2000", help="entries; the first with every size, others with 100")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    asked = parser.parse_args()
    sizes = fleet_sizes(*(_numbers(text) for text in (asked.lessons, asked.sizes, asked.entries)))
    with tempfile.TemporaryDirectory() as folder:
        report = measured(sizes, asked.rounds, Path(folder))
    for line in calls_tables(report):
        print(line)
    if asked.json:
        write_json(asked.json, report)


def fleet_sizes(lessons: Sequence[int], sizes: Sequence[int], entries: Sequence[int]) -> list[FleetSize]:
    """Return the fleets: every number of lessons with every size and the first number of entries, then the others."""
    first, *others = entries
    fleets = [FleetSize(number, size, min(first, number // 4)) for number in lessons for size in sizes]
    return fleets + [FleetSize(max(lessons[0], 2 * number), PER_PROGRAM, number) for number in others]


def measured(sizes: Sequence[FleetSize], rounds: int, folder: Path) -> CallsReport:
    """Return the figures of all fleets, their calls taking turns; one more round before the others warms up."""
    where = surroundings()
    with ExitStack() as stack:
        bare = Launch([sys.executable, "-c", BARE], {}, folder / "bare")
        idle = Meter(stack.enter_context(RawServer(bare)))
        meters: dict[FleetSize, Meter] = {}
        others: dict[FleetSize, RawServer] = {}
        for number, size in enumerate(sizes):
            print(f"filling {size}", file=sys.stderr)
            servers = stack.enter_context(made_fleet(size, folder / str(number)))
            meters[size], others[size] = Meter(servers.measured), servers.other
        for round_number in range(rounds + 1):
            for size, meter in meters.items():
                measure_round(meter, idle, round_number)
                forget_round(others[size], round_number)
            if round_number == 0:
                for meter in (idle, *meters.values()):
                    meter.forget_samples()
        nothing = idle.figures(NOTHING)
        rows = [row for size, meter in meters.items() for row in rows_of_fleet(size, meter, nothing)]
    return CallsReport(where, rounds, nothing, rows)


def measure_round(meter: Meter, idle: Meter, round_number: int) -> None:
    """Make one call of each kind, each after one of the tool that does nothing."""
    for call in measured_calls(round_number):
        idle.call(NOTHING, "echo", {"text": "x"})
        meter.call(call.kind, call.tool, call.arguments)
    meter.settle()


def rows_of_fleet(size: FleetSize, meter: Meter, nothing: Figures) -> list[CallRow]:
    """Return a row per kind of call."""
    rows = []
    for call in measured_calls(0):
        figures = meter.figures(call.kind)
        times, cpu_times = figures.p50_ms / nothing.p50_ms, figures.cpu_ms / nothing.cpu_ms
        rows.append(CallRow(size, call.kind, figures, times, cpu_times))
    return rows


def calls_tables(report: CallsReport) -> Iterator[str]:
    """Yield a markdown table per fleet, and the figures of the tool that does nothing."""
    idle = report.nothing
    figures = f"p50 {idle.p50_ms:.2f} ms, p95 {idle.p95_ms:.2f} ms, processor {idle.cpu_ms:.2f} ms"
    yield f"A tool that does nothing: {figures}."
    header = ("call", "× nothing", "budget", "p50 ms", "p95 ms", "processor ms", "× nothing", "kB written", "mean")
    for fleet in dict.fromkeys(row.fleet for row in report.rows):
        yield f"\n{fleet_title(fleet)}\n"
        yield markdown_table(header, [_cells(row) for row in report.rows if row.fleet == fleet])


def fleet_title(fleet: FleetSize) -> str:
    """Return the fleet in words."""
    return f"{fleet.per_program:,} lessons a program, {fleet.lessons:,} in the fleet, {fleet.entries:,} entries"


def budget_of(row: CallRow) -> float | None:
    """Return the most times nothing that this call may cost, None where nothing is promised."""
    budget = BUDGETS.get(row.kind)
    if budget is None or row.fleet.per_program not in {100, 500}:
        return None
    return budget if row.fleet.per_program == 100 else budget * MAX_GROWTH


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _cells(row: CallRow) -> Sequence[str]:
    figures, budget = row.figures, budget_of(row)
    return (
        row.kind,
        f"{row.times:.1f}",
        f"{budget:.1f}" if budget else "",
        f"{figures.p50_ms:.1f}",
        f"{figures.p95_ms:.1f}",
        f"{figures.cpu_ms:.1f}",
        f"{row.cpu_times:.1f}",
        f"{figures.written_kb:.1f}",
        f"{figures.mean_written_kb:.1f}",
    )


if __name__ == "__main__":
    main()
