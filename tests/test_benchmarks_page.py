"""docs/benchmarks.md shows the figures in benchmarks/results/ and where a peer is ahead."""

from dataclasses import replace
from pathlib import Path

from calls import BUDGETS, CallRow, CallsReport, Resident
from made_fleet import FleetSize
from measuring import Figures, Surroundings, write_json
from page import (
    MADE,
    PAGE,
    RESULTS,
    ahead_section,
    made_tables,
    page,
    read_calls,
    read_peers,
    read_web,
    web_section,
)
from peer_report import PeersReport, SystemReport
from peer_work import Questions, Race, Restart
from web_calls import WebFigures, WebReport, WebRow

WHERE = Surroundings("2026-01-02", "0.1.0", "abc", "a processor", 2, "3.11", 0.5)
FIGURES = Figures(50, 4.0, 8.0, 3.0, 2.0, 2.5)
ROWS = [
    CallRow(FleetSize(1000, size, 20), kind, FIGURES, times, times)
    for size, times in ((10, 1.0), (100, 2.0), (500, 3.0))
    for kind in BUDGETS
]
CALLS = CallsReport(
    WHERE,
    50,
    FIGURES,
    [*ROWS, replace(ROWS[4], fleet=FleetSize(4000, 100, 2000), times=9.0)],
    [Resident(FleetSize(1000, 100, 20), 150.0)],
)


def system(name: str, first: int) -> SystemReport:
    race, restart = Race(2, 2, 10, 10, 10, 1.5, ""), Restart(20, 20, stores=True, refusal="")
    return SystemReport(
        name, "1.0", "as is", [Questions("a set", 10, 10, 10, first, 9)], restart, race, [], []
    )


PEERS = PeersReport(WHERE, 50, FIGURES, [system("ours", 7), system("better", 8)])


IDLE = WebFigures(60, 2.0, 4.0, 5.0, 1.5, 600.0)
WEB = WebReport(
    WHERE,
    8,
    [
        WebRow("store", WebFigures(60, 7.0, 9.0, 10.0, 6.0, 120.0), IDLE),
        WebRow("recall with a query", WebFigures(60, 5.0, 8.0, 10.0, 4.5, 200.0), IDLE),
        WebRow("recall, plain", WebFigures(60, 3.0, 4.0, 5.0, 3.0, 300.0), IDLE),
    ],
    170.0,
)


def test_the_page_is_up_to_date() -> None:
    made = page(read_calls(RESULTS), read_web(RESULTS), read_peers(RESULTS))
    assert PAGE.read_text(encoding="utf-8") == made, "run: python benchmarks/page.py"


def test_the_readme_and_the_comparison_have_the_figures() -> None:
    made = made_tables(read_peers(RESULTS))
    shown = {path: MADE.findall(path.read_text(encoding="utf-8")) for path in made}
    assert shown == {path: [text] for path, text in made.items()}, "run: python benchmarks/page.py"


def test_written_results_are_read_back_unchanged(tmp_path: Path) -> None:
    write_json(tmp_path / "calls.json", CALLS)
    write_json(tmp_path / "web_calls.json", WEB)
    write_json(tmp_path / "peers.json", PEERS)
    assert read_calls(tmp_path) == CALLS
    assert read_web(tmp_path) == WEB
    assert read_peers(tmp_path) == PEERS


def test_the_page_shows_calls_over_http_against_their_budgets() -> None:
    lines = "\n".join(web_section(WEB)).split("\n")
    assert "Budgets: store 5.4, recall with a query 4 times a tool that does nothing" in " ".join(
        lines
    )
    assert [line for line in lines if line.startswith("| ")][1:5] == [
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
        "| store | 3.5 | 5.4, met | 7.0 | 9.0 | 10.0 | 2.2 | 2.0 | 6.0 | 4.0 |",
        "| recall with a query | 2.5 | 4.0, met | 5.0 | 8.0 | 10.0 | 2.0 | 2.0 | 4.5 | 3.0 |",
        "| recall, plain | 1.5 |  | 3.0 | 4.0 | 5.0 | 1.0 | 1.0 | 3.0 | 2.0 |",
    ]
    assert "| store | 120 | 600 | 5.0 |" in lines


def test_the_page_shows_where_a_peer_is_ahead() -> None:
    assert list(ahead_section(PEERS)) == [
        "\n## Where a peer is ahead\n\nOur figure comes first. Figures within 10 % count as "
        "even.\n",
        "- a set in other words, found first: 70 %; better 80",
        "\n## Where none is\n",
        "- a set in other words, in the first 5: 90 %",
        "- sent in a race and found afterwards: 100 %",
        "- found after a restart without a network: 100 %",
    ]
