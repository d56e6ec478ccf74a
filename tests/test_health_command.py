"""`fleet-memory health`: the advice and a plain table for a person, JSON for programs, exit 1 when
unhealthy.
"""

import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.rules.pairs import SideName, with_judgement
from fleet_memory.schemas.pairs import Judgement
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.health import MAX_PROGRAMS_LOOKED_AT
from tests.fleets import learn
from tests.shared import CHECK, KEY, LOOK, Lesson, opened_pair, shared_entry

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
    return main(["health", "--now", now, *flags])


def test_a_healthy_fleet_has_nothing_to_do_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert health() == 0
    assert capsys.readouterr().out.splitlines() == [
        "fleet default: healthy",
        "Nothing to do.",
        "",
        "judging   none",
        "programs  2",
        "patterns  2 total, 2 active, 0 stale, 0 promoted",
        "knowledge none",
        "freshness grade slightly_stale, isStale no, 2 pending, 0 toJudge, reason 2 lessons wait "
        "for the next run.",
        "omitted   none",
    ]


def changed(tmp_path: Path, change: Callable[[Fleet], Awaitable[object]]) -> None:
    settings = load(
        {"store": str(tmp_path / "memory.db"), "embedder": "lexical", "now": LEARNT}, {}
    )
    anyio.run(with_fleet, settings, change)


async def open_pair(fleet: Fleet, unsure: tuple[str, ...] = ()) -> None:
    pair = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("sark", CHECK))
    for name in unsure:
        said = Judgement(verdict="unsure", program_id=name, at=fleet.now())
        sides: dict[str, tuple[SideName, ...]] = {"basher": ("a",), "sark": ("b",)}
        pair = with_judgement(pair, replace(said, sides=sides.get(name, ())))
    (before,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, pair))


@pytest.mark.parametrize("program", [(), ("--program", "basher")])
def test_an_engine_that_stands_in_for_the_model_is_named(
    program: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "minilm")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert health(*program) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Engine" in line]
    assert (
        line.split(maxsplit=1)[1]
        == "lexical stands in for the embedder: `fleet-memory check` says why"
    )


@pytest.mark.parametrize("unsure", [("basher", "sark", "iso", "ram"), ("basher", "sark")])
def test_pairs_that_wait_for_people_come_first_and_do_not_make_a_fleet_unhealthy(
    unsure: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(tmp_path, partial(open_pair, unsure=unsure))
    assert health() == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "fleet default: healthy",
        "1 pair waits for people: fleet-memory review",
        "",
    ]


def test_where_people_judge_every_open_pair_waits_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(tmp_path, open_pair)
    assert health() == 0
    assert (
        "pair waits for the programs that learnt the lessons"
        in capsys.readouterr().out.splitlines()[1]
    )
    assert main(["policy", "set", "judging", "people"]) == 0
    capsys.readouterr()
    assert health() == 0
    assert capsys.readouterr().out.splitlines()[1] == "1 pair waits for people: fleet-memory review"
    assert health("--json") == 0
    assert json.loads(capsys.readouterr().out)["judging"] == {"people": 1}


def test_contested_entries_are_named_with_their_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def contest(fleet: Fleet) -> None:
        await shared_entry(fleet, "basher", "iso")
        await reinforce_memory(
            fleet, "sark", KEY, outcome="contradicted", evidence="It was taken at once"
        )
        await publish_now(fleet)

    changed(tmp_path, contest)
    assert health() == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].startswith(
        "1 entry is contested: have an agent that knows the matter call reinforce_memory with "
        "the key"
    )
    assert f"contested key {KEY}, pattern {LOOK}" in out


def test_an_unhealthy_fleet_is_reported_with_the_first_action_and_its_actor_and_exits_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert health(now=STALE) == 1
    title, advice, *table = capsys.readouterr().out.splitlines()
    assert title == "fleet default: forgetting"
    assert "Call memory_health for each in" in advice
    assert "unwell    programId basher, verdict forgetting, 1 total, 1 stale" in table
    assert "          programId sark, verdict forgetting, 1 total, 1 stale" in table


def test_of_a_large_fleet_the_programs_that_changed_last_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def grow(fleet: Fleet) -> None:
        for number in range(MAX_PROGRAMS_LOOKED_AT):
            await learn(fleet, f"program-{number:02}", f"Own lesson {number}")

    changed(tmp_path, grow)
    later = {"programId": "program-07", "patternId": "mine"}
    assert main(["call", "reinforce_memory", json.dumps(later), "--now", FADING]) == 0
    capsys.readouterr()
    assert health() == 0
    title, *table = capsys.readouterr().out.splitlines()
    assert title == "fleet default: healthy"
    assert "programs  66" in table
    assert "patterns  64 total, 64 active, 0 stale, 0 promoted" in table
    assert "omitted   2 programs" in table


def test_one_program_is_shown_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert health("--program", "basher") == 0
    out = capsys.readouterr().out
    assert out.startswith("basher: healthy\nNothing to do.\n")
    assert "100 maxUnpromotedPatterns" in out
    assert health("--program", "basher", now=FADING) == 0
    assert "id shared, pattern Shared, staleInDays 5.0\n" in capsys.readouterr().out
    assert health("--program", "basher", now=STALE) == 1
    assert "Call reinforce_memory" in capsys.readouterr().out.splitlines()[1]


def test_lessons_that_contribute_to_entries_are_counted_as_promoted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["call", "pattern_consolidate", "--now", LEARNT]) == 0
    capsys.readouterr()
    assert health() == 0
    assert "\npatterns  2 total, 2 active, 0 stale, 2 promoted\n" in capsys.readouterr().out
    assert health("--program", "basher") == 0
    assert "\npromotedPatterns 1\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "key"), [((), "patterns"), (("--program", "basher"), "fadingSoon")]
)
def test_json_is_the_tool_s_answer(
    flags: tuple[str, ...], key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert health("--json", *flags) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "healthy"
    assert key in told


def test_a_bad_store_is_reported_and_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"not a database, " * 1000)
    assert health("--store", str(tmp_path / "file")) == 3
    assert capsys.readouterr().err.startswith("fleet-memory: ")


def test_lessons_uncompared_for_a_day_make_it_exit_1_and_name_the_command_to_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["maintain", "--now", LEARNT]) == 0
    lesson = {"pattern": "Another", "domain": "d", "confidence": 0.5, "evidence": ""}
    stored = json.dumps({"programId": "basher", "pattern": lesson})
    assert main(["call", "store_memory", stored, "--now", "2026-03-01T01:00:00Z"]) == 0
    capsys.readouterr()
    assert health(now="2026-03-01T02:00:00Z") == 0
    assert "nobody proposes" not in capsys.readouterr().out
    assert health(now="2026-03-02T02:00:00Z") == 1
    assert "nobody proposes: run fleet-memory maintain daily" in capsys.readouterr().out
