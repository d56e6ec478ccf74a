"""The work that benchmarks/peers.py gives each system, on ours, and how its report shows a peer's
problems.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from comparing import Comparison, comparison_line, comparisons
from environments import Installed, install
from measuring import Figures, Surroundings
from peer_report import PeersReport, SystemReport, peers_tables
from peer_timing import Speed, Timing, timings
from peer_work import (
    Questions,
    Race,
    Restart,
    ask_questions,
    has_unshare,
    race,
    rank_of,
    restart_offline,
)
from peers import questions_of, with_timing
from questions import Asked
from systems import OURS, SYSTEMS, Memory

ASKED = Asked(
    "a set",
    ["how do I cut a mooring line", "when is bread done"],
    texts := [
        "Cut the mooring line behind the cleat",
        "Grease the crane",
        "Bread is done when its crust sounds hollow",
    ],
    texts,
    [[0], [1, 2]],
)
WHERE = Surroundings("2026-01-02", "0.1.0", "abc", "a processor", 2, "3.11", 0.5)
NOTHING = Figures(50, 1.0, 2.0, 1.0, 0.0, 0.0)


SCRIPTED = Installed(
    OURS._replace(
        name="scripted",
        command=lambda _: [
            sys.executable,
            str(Path(__file__).parent / "data" / "scripted_server.py"),
        ],
        store=lambda memory: ("keep", {"text": memory.text}),
        recall=lambda *_: ("show", {}),
        find=lambda _: ("show", {}),
    ),
    Path(),
    "1",
)


def test_each_peer_has_its_source_and_its_ways_to_store_and_ask() -> None:
    memory = Memory(17, "a text", "agent-1", "a log")
    assert memory.name == "m00017"
    assert len({system.name for system in SYSTEMS}) == len(SYSTEMS) == 6
    for system in SYSTEMS:
        assert bool(system.registry) == bool(system.tries) == (system is not OURS)
        assert system.mark(memory) in str(system.store(memory)[1])
        assert memory.evidence in str(system.store(memory)[1])
        assert "some question" in str(system.recall("some question", "agent-1", 5)[1])


def test_ours_answers_questions_in_other_words_and_after_a_restart_offline(tmp_path: Path) -> None:
    ours = install(OURS, tmp_path / "environment", [])
    assert isinstance(ours, Installed)
    answers = ask_questions(ours, tmp_path / "one", ASKED)
    assert answers == Questions("a set", texts=3, stored=3, asked=2, first=2, in_five=2)
    if has_unshare():
        restart = restart_offline(ours, tmp_path / "one", ASKED.patterns)
        assert restart == Restart(looked_for=3, found=3, stores=True, refusal="")


def test_all_that_was_acknowledged_in_a_race_is_looked_for(tmp_path: Path) -> None:
    kept = race(SCRIPTED, tmp_path / "kept", servers=3, stores=4, limit_s=60.0)
    assert kept == Race(
        servers=3, started=3, sent=12, acknowledged=12, found=12, seconds=kept.seconds, failure=""
    )
    forgets = SCRIPTED.system._replace(find=lambda _: ("work", {"milliseconds": 0}))
    lost = race(
        SCRIPTED._replace(system=forgets), tmp_path / "lost", servers=2, stores=2, limit_s=60.0
    )
    assert lost == Race(
        servers=2, started=2, sent=4, acknowledged=4, found=0, seconds=lost.seconds, failure=""
    )


def test_systems_are_timed_in_turn_and_one_that_fails_leaves_its_reason(tmp_path: Path) -> None:
    gone = SCRIPTED._replace(
        system=SCRIPTED.system._replace(name="gone", command=lambda _: ["false"])
    )
    bad = SCRIPTED._replace(
        system=SCRIPTED.system._replace(name="refuses", store=lambda _: ("refuse", {}))
    )
    nothing, (fine, *others) = timings([SCRIPTED, gone, bad], [2, 5], 2, 60.0, tmp_path)
    assert nothing.calls == 8
    assert [(speed.memories, speed.store.calls, speed.recall.calls) for speed in fine.speeds] == [
        (2, 2, 2),
        (5, 2, 2),
    ]
    assert others == [
        Timing("gone", (), "the server ended: no word on stderr"),
        Timing("refuses", [], "refused: not today"),
    ]


def test_a_rank_counts_the_other_texts_that_come_before() -> None:
    answer = '{"a": "say \\"no\\"", "b": "second", "c": "third"}'
    marks = ['say "no"', "second", "third", "fourth"]
    assert [rank_of(mark, marks, answer) for mark in marks] == [1, 2, 3, None]


def test_questions_are_the_rows_with_the_label_same(tmp_path: Path) -> None:
    path = tmp_path / "set.tsv"
    path.write_text("kind\ta\tb\nsame\tq\tt\nother\tx\ty\n", encoding="utf-8")
    assert questions_of(path) == Asked("set.tsv", ["q"], ["t"], ["t"], [[0]])
    path.write_text("a\tb\nq\tt\nr\tt\n", encoding="utf-8")
    assert questions_of(path) == Asked("set.tsv", ["q", "r"], ["t"], ["t"], [[0], [0]])


def speed(memories: int, store_ms: float, recall_ms: float) -> Speed:
    return Speed(
        memories,
        Figures(50, store_ms, store_ms, store_ms, 8.0, 9.0),
        Figures(50, recall_ms, recall_ms, recall_ms, 0.0, 0.0),
        100.0,
    )


def system_report(name: str, race: Race, speeds: Sequence[Speed]) -> SystemReport:
    restart = Restart(20, 20, stores=True, refusal="")
    return SystemReport(name, "1.0", "as is", [answers("a set", 7)], restart, race, speeds, [])


def answers(name: str, first: int) -> Questions:
    return Questions(name, 12, 12, 10, first, 9)


US = system_report("ours", Race(2, 2, 10, 10, 10, 1.5, ""), [speed(100, 8.0, 4.0)])
QUICK = system_report(
    "quick", Race(2, 1, 10, 5, 3, 1.5, "the server ended: locked"), [speed(100, 2.0, 3.9)]
)
ABSENT = SystemReport("absent", "–", "", (), None, None, (), ["cannot be had: no wheel"])
REPORT = PeersReport(WHERE, 50, NOTHING, [US, QUICK, ABSENT])


def test_a_table_shows_also_systems_that_could_not_be_measured() -> None:
    tables = "\n".join(peers_tables(REPORT))
    assert "| absent | – |  | cannot be had: no wheel |" in tables
    assert "| absent | – | – | – | – |\n" in tables
    assert "| quick | 12 of 12 | 10 | 0.70 | 0.90 |" in tables
    assert "| quick | 5 of 10, 1 of 2 servers up | 3 | 20 of 20 | yes |" in tables
    assert "| quick | 2.0 | 2.0 | 2.0 | 2.0 | 8.0 | 3.9 | 3.9 | 3.9 | 3.9 | 100 |" in tables


def test_a_peer_that_is_ahead_is_named_with_its_losses_and_even_figures_are_even() -> None:
    compared = comparisons(REPORT)
    assert [comparison_line(each) for each in compared if each.ahead] == [
        "store at 100 memories: 8.0 ms of processor; quick 2.0 (lost 2 of 5 in the race)"
    ]
    assert [comparison_line(each) for each in compared if not each.ahead][2:4] == [
        "sent in a race and found afterwards: 100 %",
        "found after a restart without a network: 100 %",
    ]
    better = replace(QUICK, questions=[answers("a set", 8)])
    first, *_ = comparisons(replace(REPORT, systems=[US, better]))
    assert first == Comparison(first.measure, 70.0, [(better, 80.0)])


def test_a_report_gets_the_speeds_of_its_system_and_their_problem() -> None:
    times = [Timing("quick", [speed(100, 1.0, 1.0)], "too slow"), Timing("ours", [])]
    found = with_timing(replace(QUICK, speeds=()), times)
    assert found == replace(QUICK, speeds=[speed(100, 1.0, 1.0)], problems=["speed: too slow"])
    assert with_timing(ABSENT, times) == ABSENT
