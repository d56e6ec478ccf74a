"""The commands about entries, rules and programs: their output, whom they ask, and their exit
codes.
"""

import io
import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.core.judging import pattern_consolidate
from tests.shared import KEY, learnt, shared_entry

RULE = "constitution/never-commit-secrets-42e3b2"
SEEDS = '[[entry]]\ntext = "Never commit secrets"\ndomain = "security"\n'


@pytest.fixture(autouse=True)
def _own_memory(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")


@pytest.fixture
def rules(tmp_path: Path) -> str:
    file = tmp_path / "rules.toml"
    file.write_text(SEEDS, encoding="utf-8")
    return str(file)


def test_seed_prints_its_changes_and_makes_them_once(
    rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["seed", rules, "--json", "--yes"]) == 0
    nothing: dict[str, object] = {
        "dryRun": False,
        "added": [],
        "changed": [],
        "retired": [],
        "kept": [],
    }
    assert json.loads(capsys.readouterr().out) == {**nothing, "added": [RULE], "unchanged": []}
    assert main(["seed", rules, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**nothing, "unchanged": [RULE]}


def test_seed_asks_a_person_and_a_dry_run_or_a_no_writes_nothing(
    rules: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    for flags, code in (([], 1), (["--dry-run"], 0), (["--yes"], 0)):
        assert main(["seed", rules, *flags]) == code
        assert f"+ {RULE}: Never commit secrets\n0 unchanged\n" in capsys.readouterr().out


def test_seed_shows_what_a_rule_said_before(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    keyed = SEEDS.replace("text =", 'key = "house"\ntext =')
    Path(rules).write_text(keyed, encoding="utf-8")
    assert main(["seed", rules, "--yes"]) == 0
    Path(rules).write_text(
        keyed.replace("Never commit", "Ask a person before you rotate"), encoding="utf-8"
    )
    capsys.readouterr()
    assert main(["seed", rules, "--yes"]) == 0
    assert capsys.readouterr().out.startswith(
        "~ constitution/house: Ask a person before you rotate secrets\n  was: Never commit "
        "secrets\n"
    )


def test_seed_keeps_rules_that_the_file_lacks_unless_it_prunes(
    rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["seed", rules, "--yes"]) == 0
    reviews = '[[entry]]\nkey = "reviews"\ntext = "Ask for two reviews"\ndomain = "git"\n'
    Path(rules).write_text(reviews, encoding="utf-8")
    assert main(["seed", rules, "--yes"]) == 0
    assert f"  {RULE} is not in the file and stays; --prune" in capsys.readouterr().out
    assert main(["seed", rules, "--yes", "--prune"]) == 0
    assert f"- {RULE}\n" in capsys.readouterr().out


@pytest.mark.parametrize("flags", [["--json"], []])
def test_a_reader_that_has_gone_does_not_stop_the_seeding(
    rules: str,
    flags: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with (
        monkeypatch.context() as closed,
        open(writer, "w", buffering=1, encoding="utf-8") as stream,  # noqa: PTH123 of a number
    ):
        closed.setattr(sys, "stdout", stream)
        main(["seed", rules, "--yes", *flags])
    capsys.readouterr()
    assert main(["seed", rules, "--dry-run"]) == 0
    assert capsys.readouterr().out == "1 unchanged\n"


def test_seed_refuses_a_wrong_file(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(rules).write_text("entry = [", encoding="utf-8")
    assert main(["seed", rules, "--yes"]) == 2
    assert "rules.toml: " in capsys.readouterr().err


def test_retire_and_reinstate_exit_with_1_when_nothing_changes(
    rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["seed", rules, "--yes"]) == 0
    capsys.readouterr()
    assert main(["retire", RULE, "--why", "We have a vault", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"key": RULE, "state": "retired", "changed": True}
    assert main(["retire", RULE, "--why", "again"]) == 1
    assert capsys.readouterr().out == f"{RULE} is retired already, nothing was changed\n"
    assert main(["reinstate", RULE, "--why", "No vault after all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {
        "key": RULE,
        "state": "fresh",
        "changed": True,
    }
    assert main(["reinstate", RULE, "--why", "again"]) == 1
    assert main(["retire", RULE[:-1], "--why", "typo"]) == 1
    assert RULE in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["retire", RULE], ["reinstate", RULE], ["reword", RULE, "x"], ["split", RULE]]
)
def test_a_reason_is_required(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(command)
    assert "--why" in capsys.readouterr().err


@pytest.fixture
def shared(settings: Settings) -> None:
    async def share(fleet: Fleet) -> None:
        await shared_entry(fleet, "basher", "iso", "sark")

    anyio.run(with_fleet, settings, share)


@pytest.mark.usefixtures("shared")
def test_reword_prints_the_state_and_refuses_a_wrong_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reword = [
        "reword",
        KEY,
        "Look whether a task is free right before you claim it",
        "--why",
        "shorter",
        "--json",
    ]
    assert main(reword) == 0
    assert json.loads(capsys.readouterr().out) == {"key": KEY, "state": "fresh", "changed": True}
    assert main(reword) == 1
    assert main(["reword", KEY, " ", "--why", "shorter"]) == 2
    assert "TEXT: must not be empty" in capsys.readouterr().err


@pytest.mark.usefixtures("shared")
def test_split_takes_the_contribution_of_a_program_out(capsys: pytest.CaptureFixture[str]) -> None:
    split = ["split", KEY, "--why", "another moment", "--json"]
    with pytest.raises(SystemExit, match="2"):
        main(split)
    assert "--program" in capsys.readouterr().err
    assert main([*split, "--program", "iso"]) == 0
    expected = {"key": KEY, "state": "fresh", "changed": True}
    assert json.loads(capsys.readouterr().out) == expected
    assert main([*split, "--program", "iso"]) == 1
    assert "iso contributes nothing" in capsys.readouterr().err


@pytest.mark.usefixtures("shared")
def test_an_agent_that_its_environment_binds_splits_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "ram")
    assert main(["split", KEY, "--why", "no", "--program", "iso"]) == 1
    assert "You are ram, and only an operator" in capsys.readouterr().err


def test_delete_program_names_25_entries_and_counts_the_others(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def share(fleet: Fleet) -> None:
        for number in range(27):
            for program in ("iso", "basher"):
                await learnt(fleet, program, f"Rule {number}: rotate key{number}", id_=f"p{number}")
        await pattern_consolidate(fleet, no_progress)

    anyio.run(with_fleet, settings, share)
    assert main(["delete-program", "iso", "--dry-run", "--json"]) == 0
    preview = json.loads(capsys.readouterr().out)
    assert (len(preview["entriesThatKeepIt"]), preview["omitted"]) == (25, {"entriesThatKeepIt": 2})


def test_delete_program_prints_the_fate_of_its_lessons(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def learn(fleet: Fleet) -> None:
        await learnt(fleet, "iso", "Look before you leap")

    anyio.run(with_fleet, settings, learn)
    deleted = {
        "programId": "iso",
        "archivedPatterns": 1,
        "archivedNotes": 0,
        "entriesThatKeepIt": [],
    }
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["delete-program", "iso"]) == 1
    assert main(["delete-program", "iso", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"dryRun": True, **deleted}
    with monkeypatch.context() as bound:
        bound.setenv("FLEET_MEMORY_PROGRAM", "sark")
        assert main(["delete-program", "iso", "--yes"]) == 1
    assert main(["delete-program", "iso", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == deleted
    assert main(["delete-program", "iso", "--yes"]) == 1
