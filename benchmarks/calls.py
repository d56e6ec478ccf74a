"""The cost of each call over stdio, against a tool that does nothing, measured without a client
library in the way.

    python benchmarks/calls.py [--rounds 100] [--lessons 1000,10000] [--sizes 10,100,500] [--entries
    20,2000]
                               [--json FILE]

Each fleet has a server of its own. In each round every server gets one call of each kind, and
before each of them a bare `mcp` server gets one for its only tool, which does nothing: other load
of the machine hits all of them. No question is asked twice. Between two rounds another server of
the same memory forgets as many lessons as the round stored, so that a program keeps its size, and
the first call of a round reads a program that another process has changed. Prints markdown
tables.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from made_fleet import FleetServers, FleetSize, forget_round, made_fleet, measured_calls
from measuring import Figures, Meter, Surroundings, markdown_table, surroundings, write_json
from rpc import Launch, RawServer
from startup import BARE

PER_PROGRAM: Final = 100  # where only the entries of the fleet vary; the default cap
NOTHING: Final = "nothing"
BUDGETS: Final = {"store": 8.0, "recall with a query": 6.0, "recall, plain": 2.5, "reinforce": 3.0}
"""Times the tool that does nothing, with 100 lessons a program. Source: chosen."""
MAX_GROWTH: Final = 1.4  # times the budget, with 500 lessons a program. Source: chosen
MAX_STORED_KB: Final = 8.0  # written by a store, with 500 lessons a program. Source: chosen
MAX_ENTRIES_GROWTH: Final = (
    2.0  # times, of a recall of all with a query, with the most entries. Source: chosen
)
MAX_RESIDENT_MB: Final = 160.0  # of a server that has been used. Source: chosen
ALL: Final = "recall of all with a query"


@dataclass(frozen=True)
class CallRow:
    """One kind of call in one fleet; `times` is its p50 in p50s of the tool that does nothing,
    `cpu_times` the same.
    """

    fleet: FleetSize
    kind: str
    figures: Figures
    times: float
    cpu_times: float


@dataclass(frozen=True)
class Resident:
    """The resident megabytes of the server of one fleet, after all calls."""

    fleet: FleetSize
    memory_mb: float


@dataclass(frozen=True)
class CallsReport:
    """All that one run measured."""

    surroundings: Surroundings
    rounds: int
    nothing: Figures
    rows: Sequence[CallRow]
    resident: Sequence[Resident] = ()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--lessons", default="1000", help="lessons of a fleet, separated by commas")
    parser.add_argument(
        "--sizes", default="10,100,500", help="lessons of a program, separated by commas"
    )
    parser.add_argument(
        "--entries", default="20,2000", help="entries; the first with every size, others with 100"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    asked = parser.parse_args()
    sizes = fleet_sizes(*(_numbers(text) for text in (asked.lessons, asked.sizes, asked.entries)))
    with tempfile.TemporaryDirectory() as folder:
        report = measured(sizes, asked.rounds, Path(folder))
    for line in calls_tables(report):
        print(line)
    if asked.json:
        write_json(asked.json, report)


def fleet_sizes(
    lessons: Sequence[int], sizes: Sequence[int], entries: Sequence[int]
) -> list[FleetSize]:
    """Return the fleets: every number of lessons with every size and the first number of entries,
    then the others.
    """
    first, *others = entries
    fleets = [
        FleetSize(number, size, min(first, number // 4)) for number in lessons for size in sizes
    ]
    return fleets + [
        FleetSize(max(lessons[0], 2 * number), PER_PROGRAM, number) for number in others
    ]


def measured(sizes: Sequence[FleetSize], rounds: int, folder: Path) -> CallsReport:
    """Return the figures of all fleets, their calls taking turns; one more round before the others
    warms up.
    """
    where = surroundings()
    with ExitStack() as stack:
        bare = Launch([sys.executable, "-c", BARE], {}, folder / "bare")
        idle = Meter(stack.enter_context(RawServer(bare)))
        meters: dict[FleetSize, Meter] = {}
        fleets: dict[FleetSize, FleetServers] = {}
        for number, size in enumerate(sizes):
            print(f"filling {size}", file=sys.stderr)
            fleets[size] = stack.enter_context(made_fleet(size, folder / str(number)))
            meters[size] = Meter(fleets[size].measured)
        for round_number in range(rounds + 1):
            for size, meter in meters.items():
                measure_round(meter, idle, round_number)
                forget_round(fleets[size].other, round_number)
            if round_number == 0:
                for meter in (idle, *meters.values()):
                    meter.forget_samples()
        nothing = idle.figures(NOTHING)
        rows = [
            row for size, meter in meters.items() for row in rows_of_fleet(size, meter, nothing)
        ]
        resident = [
            Resident(size, servers.measured.memory_mb()) for size, servers in fleets.items()
        ]
    return CallsReport(where, rounds, nothing, rows, resident)


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
    """Yield the figures of the tool that does nothing, a markdown table of the calls, and one of
    the other goals.
    """
    idle = report.nothing
    figures = f"p50 {idle.p50_ms:.2f} ms, p95 {idle.p95_ms:.2f} ms, processor {idle.cpu_ms:.2f} ms"
    yield (
        f"A tool that does nothing: {figures}. Its p50 is the unit below, in fleets of lessons a "
        "program/in the fleet/entries; the last three columns are of the first.\n"
    )
    first, *others = dict.fromkeys(row.fleet for row in report.rows)
    times = {(row.kind, row.fleet): _times(row) for row in report.rows}
    header = ("call", *map(fleet_title, (first, *others)), "p50 ms", "processor ms", "kB written")
    yield markdown_table(
        header,
        [
            (
                row.kind,
                *(times[row.kind, fleet] for fleet in (first, *others)),
                *_costs(row.figures),
            )
            for row in report.rows
            if row.fleet == first
        ],
    )
    if rows := list(goal_rows(report)):
        yield "\nOther goals:\n"
        yield markdown_table(("of", "measured", "at most"), rows)


def fleet_title(fleet: FleetSize) -> str:
    """Return the fleet as lessons of a program / of the fleet / entries, e.g. "100/1,000/20"."""
    return f"{fleet.per_program:,}/{fleet.lessons:,}/{fleet.entries:,}"


def budget_of(row: CallRow) -> float | None:
    """Return the most times nothing that this call may cost, None where nothing is promised."""
    budget = BUDGETS.get(row.kind)
    if budget is None or row.fleet.per_program < PER_PROGRAM:
        return None
    return budget if row.fleet.per_program == PER_PROGRAM else budget * MAX_GROWTH


def goal_rows(report: CallsReport) -> Iterator[tuple[str, str, str]]:
    """Yield (name, figure, goal) of the goals that are no budget of a call, as far as they were
    measured.
    """
    for row in report.rows:
        if row.kind == "store" and row.fleet.per_program > PER_PROGRAM:
            kb = row.figures.written_kb
            yield (
                f"written by a store, {fleet_title(row.fleet)}",
                f"{kb:.1f} kB",
                verdict(kb, MAX_STORED_KB),
            )
    recalls = [
        row for row in report.rows if row.kind == ALL and row.fleet.per_program == PER_PROGRAM
    ]
    for more in recalls[1:]:
        few, times = recalls[0].fleet.entries, more.figures.p50_ms / recalls[0].figures.p50_ms
        name = f"{ALL}, {more.fleet.entries:,} entries against {few:,}"
        yield name, f"{times:.1f} times", verdict(times, MAX_ENTRIES_GROWTH)
    for each in report.resident:
        name = f"resident after use, {fleet_title(each.fleet)}"
        yield name, f"{each.memory_mb:.0f} MB", verdict(each.memory_mb, MAX_RESIDENT_MB)


def verdict(figure: float, most: float) -> str:
    """Return the most that a figure is to be and whether it is, e.g. "8.0, missed"."""
    return f"{most:.1f}, {'met' if figure <= most else 'missed'}"


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _times(row: CallRow) -> str:
    """Return the times of a call, with its budget where it is over, e.g. "8.3, over 8.0"."""
    budget = budget_of(row)
    over = budget is not None and row.times > budget
    return f"{row.times:.1f}, over {budget:.1f}" if over else f"{row.times:.1f}"


def _costs(figures: Figures) -> Sequence[str]:
    return f"{figures.p50_ms:.1f}", f"{figures.cpu_ms:.1f}", f"{figures.written_kb:.1f}"


if __name__ == "__main__":
    main()
