"""`fleet-memory maintain`: what it prints, and its exit codes."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.jobs.sweep import MAINTENANCE_LEASE
from fleet_memory.repositories.leases import take
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.server.composition import open_store
from fleet_memory.settings import load

LEARNT = datetime(2026, 3, 1, tzinfo=UTC)
FADED = LEARNT + timedelta(days=181)


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    for program, text, at in (
        ("basher", "Old", LEARNT),
        ("basher", "Shared", FADED),
        ("sark", "Shared", FADED),
        ("sark", "Own", FADED),
    ):
        lesson = {"id": text.lower(), "pattern": text, "domain": "d", "confidence": 0.5, "evidence": ""}
        arguments = json.dumps({"programId": program, "pattern": lesson})
        assert main(["call", "store_memory", arguments, "--now", at.isoformat()]) == 0
    capsys.readouterr()


def maintain(*flags: str) -> int:
    return main(["maintain", "--now", FADED.isoformat(), *flags])


def test_it_says_what_it_did_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert maintain() == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "done",
        "archived: 1",
        "  basher/old: Old",
        "promoted: 1",
        "  pattern/d/shared",
        "updated: 0",
        "echoes: 0",
        "waiting: 1",
    ]
    assert captured.err == ""


def test_a_dry_run_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert maintain("--dry-run", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert first == {
        "dryRun": True,
        "archived": [{"programId": "basher", "patternId": "old", "domain": "d", "pattern": "Old"}],
        "promoted": ["pattern/d/shared"],
        "updated": [],
        "echoes": 0,
        "waiting": 1,
    }
    assert maintain("--json") == 0
    assert json.loads(capsys.readouterr().out) == {**first, "dryRun": False}


def test_running_it_again_does_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert maintain() == 0
    capsys.readouterr()
    assert maintain("--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["archived"], again["promoted"], again["updated"]) == ([], [], [])


def test_while_another_holds_the_lease_it_says_so_and_exits_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anyio.run(partial(_held_elsewhere, str(tmp_path / "memory.db")))
    assert maintain() == 4
    assert capsys.readouterr().err == (
        "fleet-memory: Another maintenance of this fleet is running; leave it to that one.\n"
    )


async def _held_elsewhere(path: str) -> None:
    store = open_store(load({"store": path}, {}).store)
    assert await take(store, FleetPaths("default").lease(MAINTENANCE_LEASE), "another", now=FADED, ttl_s=60)
    await store.close()
