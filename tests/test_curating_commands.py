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
from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.state import forget_memory
from tests.shared import KEY, learnt, shared_entry

VERBS = ("retire", "reinstate")
RULE = "constitution/never-commit-secrets-42e3b2"
FORGET = ["lesson", "forget", "iso", "--all", "--why", "gone"]
SEEDS = '[[entry]]\ntext = "Never commit secrets"\ndomain = "security"\n'


@pytest.fixture(autouse=True)
def _own_memory(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")


@pytest.fixture
def rules(tmp_path: Path) -> str:
    file = tmp_path / "rules.toml"
    file.write_text(SEEDS, encoding="utf-8")
    return str(file)


def answered(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, object]:
    capsys.readouterr()
    assert main([*words, "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert isinstance(answer, dict)
    return answer


def test_seed_prints_its_changes_and_makes_them_once(
    rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing: dict[str, list[str]] = {
        "added": [],
        "changed": [],
        "retired": [],
        "kept": [],
        "unchanged": [],
        "texts": [],
    }
    text = {"key": RULE, "text": "Never commit secrets", "was": None}
    assert answered(capsys, "seed", rules, "--yes") == {
        "dryRun": False,
        **nothing,
        "added": [RULE],
        "texts": [text],
        "notes": ["Every agent reads it at its next boot."],
    }
    assert answered(capsys, "seed", rules) == {"dryRun": False, **nothing, "unchanged": [RULE]}


def test_seed_asks_a_person_and_a_dry_run_or_a_no_writes_nothing(
    rules: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["seed", rules]) == 1
    out, err = capsys.readouterr()
    assert (out, f"{RULE}  Never commit secrets" in err) == ("", True)
    for flag in ("--dry-run", "--yes"):
        assert answered(capsys, "seed", rules, flag)["added"] == [RULE]


def test_seed_shows_what_a_rule_said_before(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    keyed = SEEDS.replace("text =", 'key = "house"\ntext =')
    Path(rules).write_text(keyed, encoding="utf-8")
    assert main(["seed", rules, "--yes"]) == 0
    Path(rules).write_text(
        keyed.replace("Never commit", "Ask a person before you rotate"), encoding="utf-8"
    )
    capsys.readouterr()
    assert main(["seed", rules, "--yes"]) == 0
    assert (
        "  constitution/house  Ask a person before you rotate secrets\n"
        "      was: Never commit secrets\n"
    ) in capsys.readouterr().out


def test_seed_keeps_rules_that_the_file_lacks_unless_it_prunes(
    rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["seed", rules, "--yes"]) == 0
    reviews = '[[entry]]\nkey = "reviews"\ntext = "Ask for two reviews"\ndomain = "git"\n'
    Path(rules).write_text(reviews, encoding="utf-8")
    assert answered(capsys, "seed", rules, "--yes")["kept"] == [RULE]
    assert answered(capsys, "seed", rules, "--yes", "--prune")["retired"] == [RULE]


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
    assert answered(capsys, "seed", rules, "--dry-run")["unchanged"] == [RULE]


def test_seed_refuses_a_wrong_file(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(rules).write_text("entry = [", encoding="utf-8")
    assert main(["seed", rules, "--yes"]) == 2
    assert "rules.toml: " in capsys.readouterr().err


def test_retire_and_reinstate_exit_with_1_when_nothing_changes(
    rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["seed", rules, "--yes"]) == 0
    retire, reinstate = (["entry", verb, RULE, "--why", "A vault"] for verb in VERBS)
    for words, state in ((retire, "retired"), (reinstate, "fresh")):
        expected = {"key": RULE, "state": state, "changed": True}
        assert answered(capsys, *words) == expected
        assert answered(capsys, *words, code=1) == {**expected, "changed": False}
    assert main(["entry", "retire", RULE[:-1], "--why", "typo"]) == 1
    assert RULE in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["entry", "retire", RULE],
        ["entry", "reinstate", RULE],
        ["entry", "reword", RULE, "x"],
        ["entry", "split", RULE, "--program", "iso"],
        ["lesson", "edit", "iso/mine", "x", "--change", "reworded"],
        ["lesson", "forget", "iso/mine"],
        ["lesson", "allow", "iso/mine"],
    ],
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
        "entry",
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
    assert main(["entry", "reword", KEY, " ", "--why", "shorter"]) == 2
    assert "TEXT: must not be empty" in capsys.readouterr().err


@pytest.mark.usefixtures("shared")
def test_split_takes_the_contribution_of_a_program_out(capsys: pytest.CaptureFixture[str]) -> None:
    split = ["entry", "split", KEY, "--why", "another moment"]
    with pytest.raises(SystemExit, match="2"):
        main(split)
    assert "--program" in capsys.readouterr().err
    split += ["--program", "iso"]
    expected = {"key": KEY, "state": "fresh", "changed": True}
    assert answered(capsys, *split) == expected
    assert main(split) == 1
    assert "name one contribution to" in capsys.readouterr().err


@pytest.mark.usefixtures("shared")
def test_an_agent_that_its_environment_binds_splits_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "ram")
    assert main(["entry", "split", KEY, "--why", "no", "--program", "iso"]) == 1
    assert "You are ram, and only an operator" in capsys.readouterr().err


def test_people_edit_a_lesson_as_its_author_would_and_the_log_says_who(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def learn(fleet: Fleet) -> None:
        await shared_entry(fleet, "basher", "iso")

    anyio.run(with_fleet, settings, learn)
    edit = ["lesson", "edit", "iso/mine", "Claim a task that is free", "--why", "clearer"]
    done = {"lesson": "iso/mine", "decision": "edited", "changed": True}
    assert answered(capsys, *edit, "--change", "reworded") == done
    assert answered(capsys, *edit, "--change", "reworded", code=1) == {**done, "changed": False}
    assert answered(capsys, "show", "iso/mine")["pattern"] == "Claim a task that is free"
    assert answered(capsys, "show", KEY)["contributors"] == ["basher", "iso"]
    edit[3] = "Claim no task twice"
    assert answered(capsys, *edit, "--change", "corrected") == done
    entry = answered(capsys, "show", KEY)
    assert (entry["contributors"], entry["status"]) == (["basher"], "candidate")
    edit[3] = " "
    assert main([*edit, "--change", "corrected"]) == 2
    assert "TEXT: must not be empty" in capsys.readouterr().err
    changes = answered(capsys, "list", "log")["changes"]
    assert isinstance(changes, list)
    edited = [each for each in changes if each["event"] == "edited"]
    assert [(each["key"], each["by"], each["why"]) for each in edited] == [
        ("iso/mine", "operator", "clearer")
    ] * 2


def test_people_forget_and_restore_a_lesson_and_the_log_says_who(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def learn(fleet: Fleet) -> None:
        await shared_entry(fleet, "basher", "iso")

    anyio.run(with_fleet, settings, learn)
    done = {"lesson": "iso/mine", "decision": "forgotten", "changed": True}
    assert answered(capsys, "lesson", "forget", "iso/mine", "--why", "wrong") == done
    assert main(["lesson", "forget", "iso/mine", "--why", "wrong"]) == 1
    assert "iso has no lesson 'mine'" in capsys.readouterr().err
    assert answered(capsys, "show", KEY)["contributors"] == ["basher"]
    assert answered(capsys, "lesson", "restore", "iso/mine")["restored"] is True
    changes = answered(capsys, "list", "log", "--limit", "3")["changes"]
    assert isinstance(changes, list)
    about = [(each["event"], each["by"]) for each in changes if each["key"] == "iso/mine"]
    assert about == [("restored", "operator"), ("forgotten", "operator")]


def test_forgetting_a_program_prints_the_fate_of_its_lessons(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def learn(fleet: Fleet) -> None:
        await learnt(fleet, "iso", "Look before you leap")

    anyio.run(with_fleet, settings, learn)
    deleted = {
        "programId": "iso",
        "archivedPatterns": 1,
        "archivedNotes": 0,
        "revokedTokens": 0,
    }
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(FORGET) == 1
    assert answered(capsys, *FORGET, "--dry-run") == {"dryRun": True, **deleted}
    with monkeypatch.context() as bound:
        bound.setenv("FLEET_MEMORY_PROGRAM", "sark")
        assert main([*FORGET, "--yes"]) == 1
    assert answered(capsys, *FORGET, "--yes") == {"dryRun": False, **deleted}
    assert main([*FORGET, "--yes"]) == 1


def test_the_archive_is_listed_and_a_lesson_without_room_is_answered_no(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def forget(fleet: Fleet) -> None:
        await learnt(fleet, "basher", "Check the status", id_="mine")
        await forget_memory(fleet, "basher", "mine", "wrong project")
        await learnt(fleet, "basher", "check the status.", id_="again")

    anyio.run(with_fleet, settings, forget)
    archive = answered(capsys, "lesson", "restore", "--program", "basher")["archive"]
    assert isinstance(archive, list)
    assert [row["patternId"] for row in archive] == ["mine"]
    assert answered(capsys, "lesson", "restore", "basher/mine", code=1)["restored"] is False
    assert main(["lesson", "restore", "other", "--program", "basher"]) == 1
    assert "the archive holds no 'other'" in capsys.readouterr().err
    assert main(["lesson", "restore"]) == 2
    assert "--program: required" in capsys.readouterr().err


def events(capsys: pytest.CaptureFixture[str], key: str) -> list[tuple[str, str, str]]:
    changes = answered(capsys, "list", "log")["changes"]
    assert isinstance(changes, list)
    return [(e["event"], e["by"], e.get("why", "")) for e in changes if e["key"] == key]


@pytest.mark.usefixtures("shared")
def test_a_flag_that_has_no_meaning_here_is_refused_and_changes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for flag in ("--yes", "--dry-run"):
        assert main(["lesson", "forget", "iso/mine", "--why", "x", flag]) == 2
        assert "they go with --all" in capsys.readouterr().err
    assert answered(capsys, "show", "iso/mine")["id"] == "mine"


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("why", "said"), [(f"ghp_{'x7Qp2LmV9rT4kZ8wB3nY' * 2:.36}", "credential"), ("", "empty")]
)
def test_the_reason_for_forgetting_a_program_keeps_to_the_limits_of_other_texts(
    why: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lesson", "forget", "iso", "--all", "--yes", "--why", why]) == 2
    assert said in capsys.readouterr().err
    assert answered(capsys, "show", "iso/mine")["id"] == "mine"


@pytest.mark.usefixtures("shared")
def test_what_people_do_to_a_lesson_of_an_entry_is_theirs_in_the_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    edit = ["lesson", "edit", "iso/mine", "Claim nothing", "--change", "corrected"]
    assert main([*edit, "--why", "it was wrong"]) == 0
    assert main(["lesson", "forget", "sark/mine", "--why", "a duplicate"]) == 0
    told = events(capsys, KEY)[:2]
    assert [(by, why) for _, by, why in told] == [
        ("operator", "a duplicate"),
        ("operator", "it was wrong"),
    ]


@pytest.mark.parametrize("command", ["lesson edit", "lesson forget", "lesson allow", "why"])
def test_a_command_for_operators_alone_takes_no_program(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*command.split(), "--help"])
    assert "--program" not in capsys.readouterr().out


def test_a_lesson_that_left_twice_comes_back_as_it_was_last(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("Claim late", "Claim early"):
        anyio.run(with_fleet, settings, lambda fleet, text=text: learnt(fleet, "iso", text))
        assert main(["lesson", "forget", "iso/mine", "--why", "wrong"]) == 0
    assert answered(capsys, "lesson", "restore", "iso/mine")["restored"] is True
    assert answered(capsys, "show", "iso/mine")["pattern"] == "Claim early"


@pytest.mark.usefixtures("shared")
def test_a_purge_of_a_program_takes_the_log_of_its_lessons_along(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lesson", "forget", "iso/mine", "--why", "a duplicate"]) == 0
    assert len(events(capsys, "iso/mine")) == 1
    rehearsed = answered(capsys, "purge", "--program", "iso", "--dry-run")
    assert "scrubbed" not in rehearsed
    assert answered(capsys, "purge", "--program", "iso", "--yes")["scrubbed"] is True
    assert events(capsys, "iso/mine") == []


def test_a_text_from_stdin_that_is_not_utf_8_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = io.TextIOWrapper(io.BytesIO(b"abcd\xff"), encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr(sys, "stdin", sent)
    assert main(["purge", "--text", "-", "--dry-run"]) == 2
    shown = "fleet-memory: --text: stdin is not UTF-8 text (character 4)\n"
    assert capsys.readouterr().err == shown  # the text itself is a secret
