"""What people do to shared knowledge: set rules from a file, retire entries, delete programs."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fleet_memory.cli import main
from fleet_memory.rules.text.keys import knowledge_key

DOCUMENTED = (Path(__file__).parent.parent / "docs" / "knowledge.md").read_text(encoding="utf-8")
CLAIM = "Check that a task is still free before you claim it"
KEY = knowledge_key("tasks", CLAIM)
RULE = "constitution/never-commit-secrets"
SEEDS = """\
[[entry]]
text = "Never commit secrets"
domain = "security"
why = "Two incidents in 2025"

[[entry]]
key = "ask-first"
text = "Ask a person before you delete data"
domain = "safety"
confidence = 0.95
"""


class Shell:
    """The command line on one memory."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        code, out, err = self.run("call", tool, json.dumps(arguments))
        assert out, (code, err)
        answer: dict[str, Any] = json.loads(out)
        return answer

    def seed(self, text: str, *flags: str, name: str = "rules.toml") -> tuple[int, dict[str, Any]]:
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        code, out, err = self.run("seed", str(file), "--json", *flags)
        return code, json.loads(out) if out else {"stderr": err}

    def learn(self, program: str, text: str = CLAIM, domain: str = "tasks") -> str:
        lesson = {"pattern": text, "domain": domain, "confidence": 0.8, "evidence": "seen"}
        return str(self.call("store_memory", programId=program, pattern=lesson)["patternId"])


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    return Shell(tmp_path, capsys)


def test_every_agent_boots_with_the_rules_of_the_house(shell: Shell) -> None:
    code, told = shell.seed(SEEDS, "--yes")
    assert (code, told["added"]) == (0, ["constitution/ask-first", RULE])
    boot = shell.call("gsp_bootstrap", agentId="basher")
    assert [(rule["key"], rule["confidence"]) for rule in boot["constitution"]] == [
        (RULE, 1.0),
        ("constitution/ask-first", 0.95),
    ]
    entry = shell.call("gsp_read", key=RULE)
    assert (entry["tier"], entry["description"]) == ("constitutional", "Two incidents in 2025")
    assert [(line["event"], line["by"]) for line in entry["ledger"]] == [("seeded", "operator")]


def test_seeding_the_same_file_again_changes_nothing(shell: Shell) -> None:
    shell.seed(SEEDS, "--yes")
    version = shell.call("gsp_search")["knowledgeVersion"]
    code, told = shell.seed(SEEDS, "--yes")
    assert (code, told["added"], told["changed"], len(told["unchanged"])) == (0, [], [], 2)
    assert shell.call("gsp_search")["knowledgeVersion"] == version


def test_a_changed_rule_is_changed_and_a_missing_one_stays_unless_pruned(shell: Shell) -> None:
    shell.seed(SEEDS, "--yes")
    less = (
        SEEDS.split("[[entry]]")[1]
        .replace("Never commit", "Never ever commit")
        .replace("text", 'key = "never-commit-secrets"\ntext')
    )
    code, told = shell.seed(f"[[entry]]{less}", "--yes")
    assert (code, told["changed"], told["kept"], told["retired"]) == (0, [RULE], ["constitution/ask-first"], [])
    assert len(shell.call("gsp_bootstrap", agentId="basher")["constitution"]) == 2
    assert shell.seed(f"[[entry]]{less}", "--yes", "--prune")[1]["retired"] == ["constitution/ask-first"]
    (rule,) = shell.call("gsp_bootstrap", agentId="basher")["constitution"]
    assert rule["pattern"] == "Never ever commit secrets"
    shell.seed(SEEDS, "--yes")
    assert len(shell.call("gsp_bootstrap", agentId="basher")["constitution"]) == 2


def test_a_dry_run_and_a_no_write_nothing(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell.seed(SEEDS, "--dry-run")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert shell.seed(SEEDS)[0] == 2
    assert shell.call("gsp_search")["total"] == 0


def test_a_person_sees_what_would_change(shell: Shell) -> None:
    (shell.folder / "rules.toml").write_text(SEEDS, encoding="utf-8")
    _, out, _ = shell.run("seed", str(shell.folder / "rules.toml"), "--dry-run")
    assert f"+ {RULE}: Never commit secrets\n" in out


def test_json_works_as_well(shell: Shell) -> None:
    rules = {"entry": [{"text": "Never commit secrets", "domain": "security"}]}
    assert shell.seed(json.dumps(rules), "--yes", name="rules.json")[1]["added"] == [RULE]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[entry]]\ntext = 'x'\n", "entry.0.domain"),
        ("[[entry]]\ntext = 'x'\ndomain = 'a b'\n", "entry.0.domain"),
        ("[[entry]]\ntext = 'x'\ndomain = 'a'\nconfidence = 2.0\n", "entry.0.confidence"),
        ("[[entry]]\ntext = 'x'\ndomain = 'a'\ntier = 'mine'\n", "entry.0.tier"),
        (SEEDS + SEEDS, "entry.2.key"),
        ("entry = [", "rules.toml: "),
        ("", "entry"),
    ],
)
def test_a_wrong_file_writes_nothing_and_names_the_place(shell: Shell, text: str, told: str) -> None:
    code, printed = shell.seed(text, "--yes")
    assert code == 2
    assert told in printed["stderr"]
    assert shell.call("gsp_search")["total"] == 0


def test_the_documented_seed_file_is_right(shell: Shell) -> None:
    (text,) = re.findall(r"```toml\n(.+?)```", DOCUMENTED, re.DOTALL)
    code, told = shell.seed(text, "--yes")
    assert (code, len(told["added"])) == (0, text.count("[[entry]]"))


def test_agents_contest_a_rule_but_never_retire_it(shell: Shell) -> None:
    shell.seed(SEEDS, "--yes")
    for program in ("iso", "sark", "ram"):
        shell.call("reinforce_memory", programId=program, patternId=RULE, outcome="contradicted")
    (rule,) = shell.call("gsp_search", status="contested")["knowledge"]
    assert rule["key"] == RULE


def test_a_lesson_that_repeats_a_rule_confirms_it_and_changes_nothing_of_it(shell: Shell) -> None:
    shell.seed(SEEDS, "--yes")
    for program in ("iso", "sark"):
        shell.learn(program, "never commit secrets!", "security")
    told = shell.call("pattern_consolidate")
    assert (told["promoted"], told["updated"], told["echoes"]) == ([], [], 2)
    entry = shell.call("gsp_read", key=RULE)
    assert (entry["confidence"], entry["contributors"], entry["description"]) == (1.0, [], "Two incidents in 2025")


def test_a_person_retires_an_entry_and_brings_it_back(shell: Shell) -> None:
    for program in ("iso", "sark"):
        shell.learn(program)
    shell.call("pattern_consolidate")
    assert shell.run("retire", KEY, "--why", "The queue is gone")[0] == 0
    assert shell.call("gsp_bootstrap", agentId="basher")["knowledge"] == []
    assert shell.run("retire", KEY, "--why", "again")[0] == 1
    assert shell.run("retire", KEY, "--why", "The queue is back", "--undo")[0] == 0
    assert len(shell.call("gsp_bootstrap", agentId="basher")["knowledge"]) == 1
    history = [(line["event"], line["by"], line["why"]) for line in shell.call("gsp_read", key=KEY)["ledger"][1:]]
    assert history == [("retired", "operator", "The queue is gone"), ("returned", "operator", "The queue is back")]


def test_a_retired_entry_returns_with_new_evidence_only(shell: Shell) -> None:
    for program in ("iso", "sark"):
        shell.learn(program)
    shell.call("pattern_consolidate")
    shell.run("retire", KEY, "--why", "wrong")
    assert shell.call("pattern_consolidate")["promoted"] == []
    shell.learn("ram")
    assert shell.call("pattern_consolidate")["promoted"] == []
    shell.learn("quorra")
    (back,) = shell.call("pattern_consolidate")["promoted"]
    assert (back["key"], back["contributors"]) == (KEY, ["iso", "quorra", "ram", "sark"])
    assert shell.call("gsp_read", key=KEY)["status"] == "fresh"


def test_an_unknown_key_is_told_with_the_close_ones(shell: Shell) -> None:
    shell.seed(SEEDS, "--yes")
    code, _, told = shell.run("retire", RULE[:-1], "--why", "typo")
    assert code == 1
    assert RULE in told


def test_a_bound_caller_does_none_of_this(shell: Shell) -> None:
    shell.seed(SEEDS, "--yes")
    shell.learn("iso")
    for command in (["retire", RULE, "--why", "no"], ["delete-program", "iso", "--yes"]):
        code, _, told = shell.run(*command, "--program", "sark")
        assert (code, "role admin" in told) == (1, True)
    assert shell.seed(SEEDS.replace("Never", "Never ever"), "--yes", "--program", "sark")[0] == 1
    assert shell.call("gsp_read", key=RULE)["version"] == 1


def test_a_deleted_program_leaves_its_contribution_and_its_archive(shell: Shell) -> None:
    for program in ("iso", "sark"):
        shell.learn(program)
    shell.learn("iso", "Rotate the log files once a day", "logs")
    shell.call("add_note", programId="iso", text="Port 8081 is taken")
    shell.call("update_program_state", programId="iso", contextSummary={"handoffNotes": "go on"})
    shell.call("pattern_consolidate")
    code, out, _ = shell.run("delete-program", "iso", "--yes")
    assert (code, json.loads(out)) == (
        0,
        {"programId": "iso", "archivedPatterns": 2, "archivedNotes": 1, "entriesThatKeepIt": [KEY]},
    )
    entry = shell.call("gsp_read", key=KEY)
    assert entry["contributors"] == ["iso", "sark"]
    assert [line.get("programDeleted") for line in entry["provenance"]] == [True, None]
    assert shell.call("recall_memory", programId="iso")["exists"] is False
    assert shell.call("get_context_history", programId="iso")["summaries"] == []
    archived = json.loads(shell.run("restore", "--program", "iso")[1])["archive"]
    assert {(line["reason"], line.get("noteId", "lesson")) for line in archived} == {
        ("deleted", "lesson"),
        ("deleted", "n1"),
    }


def test_what_a_deleted_program_had_waiting_is_no_witness_any_more(shell: Shell) -> None:
    shell.learn("iso")
    shell.call("pattern_consolidate")
    assert shell.run("delete-program", "iso", "--yes")[0] == 0
    shell.learn("sark")
    told = shell.call("pattern_consolidate")
    assert (told["promoted"], told["review"], told["waiting"]) == ([], [], 1)
    shell.learn("ram")
    assert [entry["contributors"] for entry in shell.call("pattern_consolidate")["promoted"]] == [["ram", "sark"]]


def test_a_name_that_nobody_has_is_refused(shell: Shell) -> None:
    shell.learn("basher")
    code, _, told = shell.run("delete-program", "bashr", "--yes")
    assert (code, "basher" in told) == (2, True)
