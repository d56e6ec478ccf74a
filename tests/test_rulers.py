"""The rulers of benchmarks/: a raw client whose figures are the server's own, and calls that take
turns.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls import (
    ALL,
    CallRow,
    CallsReport,
    Resident,
    calls_tables,
    goal_rows,
    measured,
)
from made_fleet import FleetSize, lessons_by_program
from measuring import (
    Figures,
    Meter,
    Sample,
    Surroundings,
    figures_of,
)
from rpc import Launch, NoAnswerError, RawServer, Reply

from tests.bounds import HANG_S

SERVER = Path(__file__).parent / "data" / "scripted_server.py"


def scripted(folder: Path) -> Launch:
    return Launch([sys.executable, str(SERVER)], {}, folder)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RawServer]:
    with RawServer(scripted(tmp_path), wait_s=HANG_S) as server:
        yield server


def test_a_reply_has_the_text_and_whether_the_tool_refused(server: RawServer) -> None:
    worked, refused = server.call("work", {"milliseconds": 0}), server.call("refuse", {})
    unknown = server.call("fly", {})
    assert [each._replace(seconds=0) for each in (worked, refused, unknown)] == [
        Reply(0, "worked", refused=False),
        Reply(0, "not today", refused=True),
        Reply(0, '{"code": -32602, "message": "unknown"}', refused=True),
    ]


def test_noise_is_skipped_and_a_question_of_the_server_is_refused(server: RawServer) -> None:
    assert server.call("chat", {}).text == "refused with -32601"


def test_the_seconds_cover_the_work_and_the_processor_time_is_the_servers(
    server: RawServer,
) -> None:
    before = server.cpu_s()
    reply = server.call("work", {"milliseconds": 50})
    assert reply.seconds >= 0.05
    assert server.cpu_s() - before >= 0.05


def test_written_bytes_are_those_of_files_without_the_answers(server: RawServer) -> None:
    before = server.written()
    server.call("write", {"bytes": 123_456})
    assert server.written() - before == 123_456


def test_a_server_that_ends_is_reported_with_its_last_words(server: RawServer) -> None:
    with pytest.raises(NoAnswerError, match="the server ended: out of ideas"):
        server.call("end", {})


def test_a_meter_keeps_a_sample_of_each_call_by_its_kind(server: RawServer) -> None:
    meter = Meter(server)
    meter.call("warm", "work", {"milliseconds": 0})
    meter.forget_samples()
    for _ in range(3):
        meter.call("light", "work", {"milliseconds": 0})
        meter.call("heavy", "write", {"bytes": 7000})
    light, heavy = meter.figures("light"), meter.figures("heavy")
    assert (
        light.calls,
        light.written_kb,
        heavy.calls,
        heavy.written_kb,
        heavy.mean_written_kb,
    ) == (3, 0, 3, 7, 7)
    assert 0 < light.p50_ms <= light.p95_ms


def test_figures_are_medians_and_means_of_samples() -> None:
    samples = [
        Sample(seconds, seconds / 2, 1000 * number)
        for number, seconds in enumerate((0.25, 0.5, 2.25))
    ]
    assert figures_of(samples) == Figures(3, 500.0, 2250.0, 500.0, 1.0, 1.0)


def test_each_program_of_a_made_fleet_has_its_lessons_and_shares_the_first() -> None:
    texts = lessons_by_program(FleetSize(6, 3, 2))
    (one, two) = (set(lessons) for lessons in texts.values())
    assert [len(lessons) for lessons in texts.values()] == [3, 3]
    assert len(one & two) == 2
    with pytest.raises(ValueError, match="5 entries need more than 3 lessons a program"):
        lessons_by_program(FleetSize(6, 3, 5))


def row_of(fleet: FleetSize, kind: str, p50_ms: float, kb: float = 0.0) -> CallRow:
    return CallRow(fleet, kind, Figures(9, p50_ms, p50_ms, p50_ms, kb, kb), p50_ms, p50_ms)


def test_each_goal_has_its_figure_and_whether_it_is_met() -> None:
    large, few, many = (
        FleetSize(1000, 500, 20),
        FleetSize(1000, 100, 20),
        FleetSize(4000, 100, 2000),
    )
    rows = [
        *(
            row_of(large, "store", 11.3, 7.96),
            row_of(large, ALL, 99.0),
            row_of(few, "store", 8.0, 9.0),
        ),
        *(row_of(few, ALL, 4.0), row_of(many, ALL, 10.0)),
    ]
    where = Surroundings("2026-01-02", "0.1.0", "abc", "a processor", 2, "3.11", 0.5)
    report = CallsReport(
        where, 9, Figures(9, 1.0, 1.0, 1.0, 0.0, 0.0), rows, [Resident(few, 160.0)]
    )
    assert list(goal_rows(report)) == [
        (
            "written by a store, 500 lessons a program, 1,000 in the fleet, 20 entries",
            "8.0 kB",
            "8.0, met",
        ),
        ("recall of all with a query, 2,000 entries against 20", "2.5 times", "2.0, missed"),
        (
            "resident after use, 100 lessons a program, 1,000 in the fleet, 20 entries",
            "160 MB",
            "160.0, met",
        ),
    ]
    tables = list(calls_tables(report))
    assert "| store | 11.3 | 11.2, missed | 11.3 |" in tables[2]
    assert "| store | 8.0 | 8.0, met | 8.0 |" in tables[4]
    assert tables[-2] == "\nOther goals:\n"


def test_every_call_is_measured_in_every_fleet(tmp_path: Path) -> None:
    report = measured([FleetSize(8, 4, 2)], 1, tmp_path)
    rows = {row.kind: row for row in report.rows}
    assert len(rows) == len(report.rows) == 9
    assert report.nothing.calls == 9
    assert {row.figures.calls for row in report.rows} == {1}
    assert all(each.memory_mb > 10 for each in report.resident)
    assert {kind for kind, row in rows.items() if row.figures.written_kb} == {
        "store",
        "reinforce",
        "commit_session",
    }
    assert all(row.times == row.figures.p50_ms / report.nothing.p50_ms for row in report.rows)
    table = "\n".join(calls_tables(report))
    assert all(f"| {kind} | " in table for kind in rows)
