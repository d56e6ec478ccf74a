"""`fleet-memory doctor memory`: what health says, the advice first, exit 1 when unhealthy."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from tests.shared import CHECK, LOOK, Lesson, opened_pair

LEARNT, FADING, STALE = "2026-03-01T00:00:00Z", "2026-05-25T00:00:00Z", "2026-06-20T00:00:00Z"


@pytest.fixture(autouse=True)
def _own_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    for program in ("basher", "sark"):
        lesson = {
            "id": "shared",
            "pattern": "Shared",
            "domain": "d",
            "confidence": 0.5,
            "evidence": "",
        }
        stored = json.dumps({"programId": program, "pattern": lesson})
        assert main(["call", "store_memory", stored, "--now", LEARNT]) == 0
    capsys.readouterr()


def health(*flags: str, now: str = LEARNT) -> int:
    return main(["doctor", "memory", "--now", now, *flags])


def told(
    capsys: pytest.CaptureFixture[str], *flags: str, now: str = LEARNT, code: int = 0
) -> dict[str, Any]:
    """Return the answer as JSON; its last finding is about the memory."""
    capsys.readouterr()
    assert health("--json", *flags, now=now) == code
    answer = json.loads(capsys.readouterr().out)
    assert (answer["findings"][-1]["name"], answer["findings"][-1]["ok"]) == ("memory", code == 0)
    assert isinstance(answer, dict)
    return answer


def test_a_healthy_fleet_has_nothing_to_do_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert health() == 0
    out = capsys.readouterr().out
    assert "yes  memory    healthy; 2 lessons wait for the next run." in out
    lines = {tuple(line.split(maxsplit=1)) for line in out.splitlines()}
    assert {("advice", "none"), ("programs", "2"), ("knowledge", "none")} < lines
    assert ("patterns", "total 2, stale 0, promoted 0") in lines


def changed(tmp_path: Path, change: Callable[[Fleet], Awaitable[object]]) -> None:
    settings = load(
        {"store": str(tmp_path / "memory.db"), "embedder": "lexical", "now": LEARNT}, {}
    )
    anyio.run(with_fleet, settings, change)


async def open_pair(fleet: Fleet) -> None:
    await opened_pair(fleet, Lesson("basher", LOOK), Lesson("sark", CHECK))


@pytest.mark.parametrize("program", [(), ("--program", "basher")])
def test_an_engine_that_stands_in_for_the_model_is_named(
    program: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "minilm")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert health("--json", *program) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["similarityEngine"] == "lexical"
    assert [each["name"] for each in answer["findings"] if not each["ok"]] == ["embedder"]


def test_where_people_judge_every_open_pair_waits_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(tmp_path, open_pair)
    assert (
        "Pairs that wait for the programs that learnt the lessons: 1" in told(capsys)["advice"][0]
    )
    assert main(["policy", "set", "judging", "people"]) == 0
    answer = told(capsys)
    assert answer["advice"] == ["Pairs that wait for people: 1. Run fleet-memory review."]
    assert answer["judging"] == {"people": 1}


def test_an_unhealthy_fleet_is_reported_with_the_first_action_and_its_actor_and_exits_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = told(capsys, now=STALE, code=1)
    assert (answer["verdict"], answer["healthy"]) == ("forgetting", False)
    assert "Call memory_health for each in" in answer["advice"][0]
    assert [(each["programId"], each["stale"]) for each in answer["unwell"]] == [
        ("basher", 1),
        ("sark", 1),
    ]


def test_one_program_is_shown_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(capsys, "--program", "basher")
    assert (answer["programId"], answer["verdict"]) == ("basher", "healthy")
    (soon,) = told(capsys, "--program", "basher", now=FADING)["fadingSoon"]
    assert (soon["id"], soon["staleInDays"]) == ("shared", 5)
    assert (
        "Call reinforce_memory"
        in told(capsys, "--program", "basher", now=STALE, code=1)["advice"][0]
    )


def test_lessons_uncompared_for_a_day_make_it_exit_1_and_name_the_command_to_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["maintain", "--now", LEARNT]) == 0
    lesson = {"pattern": "Another", "domain": "d", "confidence": 0.5, "evidence": ""}
    stored = json.dumps({"programId": "basher", "pattern": lesson})
    assert main(["call", "store_memory", stored, "--now", "2026-03-01T01:00:00Z"]) == 0
    capsys.readouterr()
    assert "nobody proposes" not in str(told(capsys, now="2026-03-01T02:00:00Z"))
    answer = told(capsys, now="2026-03-02T02:00:00Z", code=1)
    assert "nobody proposes: run fleet-memory maintain daily" in answer["freshness"]["reason"]
