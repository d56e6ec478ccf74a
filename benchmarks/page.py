"""Writes docs/benchmarks.md from benchmarks/results/.

calls.py, web_calls.py and peers.py write the results with --json. tests/test_benchmarks_page.py
fails while a page is out of date. Run: python benchmarks/page.py
"""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from calls import BUDGETS, MAX_GROWTH, CallsReport, calls_tables
from comparing import comparison_cells, comparisons
from measuring import ROOT, Surroundings, markdown_table
from peer_report import PeersReport, peers_tables
from pydantic import TypeAdapter
from web_calls import LEAST, SIZE, WEB_BUDGETS, WebReport, web_tables

PAGE: Final = ROOT / "docs" / "benchmarks.md"
RESULTS: Final = Path(__file__).parent / "results"
GENERATED: Final = (
    "<!-- Made by benchmarks/page.py from benchmarks/results/. Measure again and run it. -->"
)


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
        "A raw JSON-RPC client makes every call, over stdio where HTTP is not named. Systems take "
        "turns call by call, so that other load hits all of them: compare within a table only. "
        '"Processor" is the user and system time of the server from one of its calls to the next, '
        '"kB written" the median of all bytes that it writes but for its answers. A figure over '
        "its budget names it."
    )


def calls_section(report: CallsReport) -> Iterator[str]:
    """Yield the section on the cost of each call."""
    yield "\n## The cost of a call\n"
    yield paragraph(
        f"`python benchmarks/calls.py`, {report.rounds} calls of each kind; "
        f"{place(report.surroundings)} Budgets: at 100 lessons a program "
        f"{budget_words(BUDGETS)} times a tool that does nothing; at 500 at most {MAX_GROWTH} "
        "times as much."
    )
    yield ""
    yield from calls_tables(report)


def budget_words(budgets: Mapping[str, float]) -> str:
    """Return budgets in words, e.g. "store 8, reinforce 3"."""
    return ", ".join(f"{kind.replace(',', '')} {times:g}" for kind, times in budgets.items())


def web_section(report: WebReport) -> Iterator[str]:
    """Yield the section on the cost of calls over HTTP."""
    yield "\n## The cost of a call over HTTP\n"
    yield paragraph(
        f"`python benchmarks/web_calls.py`, {report.rows[0].figures.calls} calls of each kind "
        f"by one client; {place(report.surroundings)} The fleet has {SIZE.lessons:,} lessons, "
        f"{SIZE.per_program} a program. Budgets: {budget_words(WEB_BUDGETS)} times a tool that "
        "does nothing on the same server. A tool without any rule of a memory shows the least "
        f"that a store can cost ({LEAST}). The server has {report.memory_mb:.0f} MB resident "
        "afterwards."
    )
    yield ""
    yield from web_tables(report)


def peers_section(report: PeersReport) -> Iterator[str]:
    """Yield the section on the same work done by peers."""
    yield "\n## Other memories\n"
    yield paragraph(
        f"`python benchmarks/peers.py`; {place(report.surroundings)} Each system runs as it "
        "installs. In a race, servers start and store at once on one memory; each memory that was "
        "acknowledged is looked for afterwards."
    )
    yield ""
    yield from peers_tables(report)


def ahead_section(report: PeersReport) -> Iterator[str]:
    """Yield where a peer is ahead."""
    yield "\n## Where a peer is ahead\n"
    yield paragraph("By more than a tenth, of a percentage by one point:")
    yield ""
    rows = [comparison_cells(each) for each in comparisons(report) if each.ahead]
    yield markdown_table(("measure", "fleet-memory", "ahead"), rows, words=3)


def paragraph(text: str) -> str:
    """Return the text in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


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
    PAGE.write_text(
        page(read_calls(RESULTS), read_web(RESULTS), read_peers(RESULTS)), encoding="utf-8"
    )
