"""Writes docs/benchmarks.md, and the tables of figures of the README and docs/comparison.md, from
benchmarks/results/.

calls.py, web_calls.py and peers.py write the results with --json. tests/test_benchmarks_page.py
fails while a page is out of date. Run: python benchmarks/page.py
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from calls import BUDGETS, MAX_GROWTH, CallsReport, calls_tables
from comparing import (
    against_lossless,
    comparison_cells,
    comparisons,
    found_in_five,
    survivors,
)
from measuring import ROOT, Surroundings, markdown_table
from peer_report import NOT_MEASURED, PeersReport, SystemReport, peers_tables
from peer_work import LIMIT
from pydantic import TypeAdapter
from web_calls import LEAST, SIZE, WEB_BUDGETS, WebReport, web_tables

PAGE: Final = ROOT / "docs" / "benchmarks.md"
README: Final = ROOT / "README.md"
COMPARISON: Final = ROOT / "docs" / "comparison.md"
MADE: Final = re.compile(
    r"(?<=<!-- made by benchmarks/page.py -->\n).*?(?=\n<!-- made until here -->)", re.DOTALL
)
AT_MEMORIES: Final = 100  # the README's costs
RESULTS: Final = Path(__file__).parent / "results"
GENERATED: Final = (
    "<!-- Made by benchmarks/page.py from benchmarks/results/. Measure again and run it. -->"
)
PLOTTED: Final = (100, 500)  # lessons a program: the bars and the line of the first plot


def page(calls: CallsReport, web: WebReport, peers: PeersReport) -> str:
    """Return the page."""
    sections = [
        *calls_section(calls),
        *web_section(web),
        *peers_section(peers),
        *ahead_section(peers),
    ]
    return "\n".join([*head(), *sections]) + "\n"


def head() -> Iterator[str]:
    """Yield the page's beginning."""
    yield f"# Benchmarks\n\n{GENERATED}\n"
    yield paragraph(
        "A raw JSON-RPC client makes every call, over stdio but where HTTP is named, so that "
        "no client library's time "
        "is in a figure. Systems take turns call by call, so that other load of the machine "
        "hits all of them: compare "
        'within a table, never between two. "Processor" is user and system time of the '
        "server's process from one of "
        'its calls to the next, work after the answer included. "kB written" is the median of '
        "all bytes that the "
        "process writes but for its answers. On a busy machine a long call waits for others "
        "more often than a short "
        "one, so its wall time in times of the tool that does nothing grows with the load; the "
        "processor time hardly "
        "does."
    )


def calls_section(report: CallsReport) -> Iterator[str]:
    """Yield the section on the cost of each call."""
    yield "\n## The cost of a call\n"
    yield paragraph(
        f"`python benchmarks/calls.py`, {report.rounds} calls of each kind; "
        f"{place(report.surroundings)} The last "
        "column is the mean of the kB written: it has also the pages that SQLite copies from "
        "its log to its file. "
        f"Budgets: at 100 lessons a program {budget_words(BUDGETS)} times a tool that does "
        "nothing; at 500 lessons at "
        f"most {MAX_GROWTH} times as much."
    )
    yield ""
    yield from calls_tables(report)
    yield from calls_plot(report)


def budget_words(budgets: Mapping[str, float]) -> str:
    """Return budgets in words, e.g. "store 8, reinforce 3"."""
    return ", ".join(f"{kind.replace(',', '')} {times:g}" for kind, times in budgets.items())


def calls_plot(report: CallsReport) -> Iterator[str]:
    """Yield the plot of the calls that have a budget, if both sizes were measured."""
    times = {(row.kind, row.fleet.per_program): row.times for row in reversed(report.rows)}
    bars, line = ([times.get((kind, size), 0.0) for kind in BUDGETS] for size in PLOTTED)
    if all([*bars, *line]):
        title = "Times a tool that does nothing (bars: 100 lessons a program, line: 500)"
        yield from plot(title, list(BUDGETS), bars, line, "times")


def web_section(report: WebReport) -> Iterator[str]:
    """Yield the section on the cost of calls over HTTP."""
    yield "\n## The cost of a call over HTTP\n"
    yield paragraph(
        f"`python benchmarks/web_calls.py`, {report.rows[0].figures.calls} calls of each kind "
        "by one client, then all "
        f"{report.clients} clients at once; {place(report.surroundings)} Each client has a "
        "token of its own; the fleet "
        f"has {SIZE.lessons:,} lessons, {SIZE.per_program} a program. Here the processor time "
        "ends with the answer. "
        f"Budgets: {budget_words(WEB_BUDGETS)} times a tool that does nothing on the same "
        "server, at the median. A "
        f"tool without any rule of a memory shows the least that a store can cost ({LEAST}). "
        "The server has "
        f"{report.memory_mb:.0f} MB resident afterwards."
    )
    yield ""
    yield from web_tables(report)


def peers_section(report: PeersReport) -> Iterator[str]:
    """Yield the section on the same work done by peers."""
    yield "\n## Other memories\n"
    yield paragraph(
        f"`python benchmarks/peers.py`; {place(report.surroundings)} Each system runs as it "
        "installs, with its "
        "defaults, in an environment and a folder of its own. A system that has one text for a "
        "lesson and its evidence "
        "gets both in it. In a race, servers start and store at once on one memory; each "
        "memory that was acknowledged "
        "is looked for afterwards."
    )
    yield ""
    yield from peers_tables(report)
    title = (
        "Percent (bars: questions answered among the first 5, line: memories sent in the race "
        "and found)"
    )
    bars, line = (
        [figure(system) or 0.0 for system in report.systems]
        for figure in (found_in_five, survivors)
    )
    yield from plot(title, [system.name for system in report.systems], bars, line, "percent")


def ahead_section(report: PeersReport) -> Iterator[str]:
    """Yield where a peer is ahead."""
    yield "\n## Where a peer is ahead\n\n[Comparison](comparison.md#measured) has these figures."
    lossless = list(against_lossless(report))
    if lossless:
        yield "\nAgainst the cheapest peer that lost nothing in the race and the restart:\n"
        yield from (f"- {line}" for line in lossless)


def made_tables(report: PeersReport) -> Mapping[Path, str]:
    """Return what stands between the marks of each page that is not made as a whole."""
    return {README: readme_figures(report), COMPARISON: compared_figures(report)}


def readme_figures(report: PeersReport) -> str:
    """Return the README's paragraph and table: the systems that store without a network, with their
    main figures.
    """
    where = report.surroundings
    servers = max((system.race.servers for system in report.systems if system.race), default=0)
    header = (
        *(
            "system",
            f"a question in other words: found in {LIMIT}",
            f"race of {servers} servers: acknowledged",
        ),
        *("of these found", "a store: ms of processor", "resident MB"),
    )
    rows = [
        _in_readme(system) for system in report.systems if system.restart and system.restart.stores
    ]
    return "\n".join(
        [
            f"Version {where.version} and other memories, on {where.cores} cores (`python "
            "benchmarks/peers.py`; "
            "[all figures](docs/benchmarks.md)):",
            "",
            markdown_table(header, rows),
        ]
    )


def compared_figures(report: PeersReport) -> str:
    """Return the table of docs/comparison.md."""
    rows = [comparison_cells(each) for each in comparisons(report)]
    return markdown_table(("measure", "fleet-memory", "ahead"), rows, words=3)


def _in_readme(system: SystemReport) -> Sequence[str]:
    share, race, speed = found_in_five(system), system.race, system.speed(AT_MEMORIES)
    return [
        system.name,
        NOT_MEASURED if share is None else f"{share / 100:.2f}",
        *([f"{race.acknowledged} of {race.sent}", str(race.found)] if race else [NOT_MEASURED] * 2),
        *([f"{speed.store.cpu_ms:.1f}", f"{speed.memory_mb:.0f}"] if speed else [NOT_MEASURED] * 2),
    ]


def paragraph(text: str) -> str:
    """Return the text in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def plot(
    title: str, names: Sequence[str], bars: Sequence[float], line: Sequence[float], unit: str
) -> Iterator[str]:
    """Yield a mermaid chart of two series."""
    top = max([*bars, *line]) * 1.1
    yield "\n```mermaid\nxychart-beta"
    yield f'    title "{title}"'
    yield f"    x-axis [{', '.join(json.dumps(name) for name in names)}]"
    yield f'    y-axis "{unit}" 0 --> {top:.0f}'
    yield f"    bar [{', '.join(f'{value:.1f}' for value in bars)}]"
    yield f"    line [{', '.join(f'{value:.1f}' for value in line)}]\n```"


def place(where: Surroundings) -> str:
    """Return where and when a run was made, as the end of a sentence."""
    machine = (
        f"{where.cores} cores of {where.processor}, average load {where.load} at the start, "
        f"Python {where.python}"
    )
    return f"{where.at}, version {where.version} at commit {where.commit}, {machine}."


def read_calls(folder: Path) -> CallsReport:
    """Return the report that calls.py wrote. Raises OSError, and ValueError for another shape."""
    return TypeAdapter(CallsReport).validate_json((folder / "calls.json").read_bytes())


def read_web(folder: Path) -> WebReport:
    """Return the report that web_calls.py wrote. Raises OSError, and ValueError for another
    shape.
    """
    return TypeAdapter(WebReport).validate_json((folder / "web_calls.json").read_bytes())


def read_peers(folder: Path) -> PeersReport:
    """Return the report that peers.py wrote. Raises OSError, and ValueError for another shape."""
    return TypeAdapter(PeersReport).validate_json((folder / "peers.json").read_bytes())


if __name__ == "__main__":
    measured = read_peers(RESULTS)
    PAGE.write_text(page(read_calls(RESULTS), read_web(RESULTS), measured), encoding="utf-8")
    for path, text in made_tables(measured).items():
        path.write_text(
            MADE.sub(text.replace("\\", r"\\"), path.read_text(encoding="utf-8")), encoding="utf-8"
        )
