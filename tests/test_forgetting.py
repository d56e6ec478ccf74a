"""Forgetting on purpose, and bringing back from the archive what was forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleet_memory.cli import main
from fleet_memory.rules.lifecycle.forgetting import forgotten, pattern_restore_problem, restored
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.programs import DecayConfig
from tests.lessons import START, days, pattern, program

NOW = "2026-03-07T12:00:00Z"


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"STORE": tmp_path / "memory.db", "EMBEDDER": "lexical", "TOOLSETS": "all", "NOW": NOW}.items():
        monkeypatch.setenv(f"FLEET_MEMORY_{name}", str(value))


class Shell:
    """Commands for the program basher, and the JSON that they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        code, told = self._run("call", tool, json.dumps({"programId": "basher", **arguments}))
        assert code == 0, told
        return told

    def restore(self, *id_: str) -> tuple[int, dict[str, Any]]:
        return self._run("restore", *id_, "--program", "basher")

    def _run(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        code = main(arguments)
        printed = self._capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else {"stderr": printed.err}


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def lesson(text: str, **fields: object) -> dict[str, object]:
    return {"pattern": text, "domain": "claims", "confidence": 0.8, "evidence": "seen", **fields}


def test_what_is_forgotten_comes_back_as_it_was_and_consolidation_sees_it() -> None:
    one = pattern(confirmations=3, doublings=2, calls={"p1": "digest"}, knowledge_seen=7)
    before = program(one, pattern("Another", id="p2"))
    gone = forgotten(before, one, "mistake", START + days(1))
    assert list(gone.program.patterns) == ["p2"]
    assert stamped(before, gone.program, START).touched == ("task-claiming",)
    assert (gone.archived[0].reason, gone.archived[0].why) == ("forgotten", "mistake")
    back = restored(gone.program, gone.archived[0].pattern, START + days(2))
    assert (back.pattern, back.program.patterns["p1"], back.fades) == (one, one, False)
    assert back.program.pending == ("p1",)


def test_a_pattern_that_took_the_id_meanwhile_stays() -> None:
    old, new = pattern("Old", calls={"p1": "old", "merged": "m"}), pattern("New", calls={"p1": "new"})
    back = restored(program(new), old, START)
    assert (back.pattern.id, back.pattern.calls) == ("p1-2", {"merged": "m"})
    assert back.program.patterns == {"p1": new, "p1-2": back.pattern}


def test_a_contributor_comes_back_as_one_and_does_not_wait() -> None:
    one = pattern(knowledge_key="pattern/a/b")
    back = restored(program(), one, START)
    assert (back.pattern, back.program.pending) == (one, ())
    assert stamped(program(), back.program, START).touched == ("task-claiming",)


def test_one_that_is_too_old_comes_back_stale_and_says_that_it_fades() -> None:
    late = START + days(181)
    back = restored(program(), pattern(), late)
    assert (back.pattern.last_reinforced, back.program.pending, back.fades) == (START, (), True)
    assert not restored(program(), pattern(knowledge_key="pattern/a/b"), late).fades


def test_nothing_is_evicted_for_it_and_nothing_comes_back_twice() -> None:
    full = program(pattern("Kept", id="p2"), decay=DecayConfig(max_unpromoted_patterns=1))
    assert "its cap" in (pattern_restore_problem(full, pattern()) or "")
    assert pattern_restore_problem(full, pattern(knowledge_key="pattern/a/b")) is None
    assert pattern_restore_problem(program(pattern("Kept", id="p2")), pattern()) is None
    assert "learnt this again as 'p9'" in (pattern_restore_problem(program(pattern(id="p9")), pattern()) or "")
    assert pattern_restore_problem(program(pattern(id="p9", project_id="other")), pattern()) is None


def test_a_forgotten_lesson_is_listed_and_restored(shell: Shell) -> None:
    shell.call("store_memory", pattern=lesson("Check the status", id="mine"))
    shell.call("reinforce_memory", patternId="mine", evidence="again")
    before = shell.call("recall_memory")["patterns"]
    gone = shell.call("forget_memory", patternId="mine", reason="wrong project")
    assert gone == {
        "programId": "basher",
        "patternId": "mine",
        "archiveId": gone["archiveId"],
        "patternsCount": 0,
    }
    code, told = shell.restore()
    assert (code, told["programId"]) == (0, "basher")
    assert [{**row, "at": "…"} for row in told["archive"]] == [
        {
            "id": gone["archiveId"],
            "at": "…",
            "reason": "forgotten",
            "patternId": "mine",
            "text": "Check the status",
            "why": "wrong project",
        }
    ]
    assert shell.restore(gone["archiveId"]) == (0, {"programId": "basher", "restored": True, "patternId": "mine"})
    assert shell.call("recall_memory")["patterns"] == before
    assert shell.restore()[1]["archive"] == []
    code, told = shell.restore("mine")
    assert (code, "the archive holds no 'mine'" in told["stderr"]) == (2, True)


def test_a_name_that_was_archived_twice_must_be_told_apart(shell: Shell) -> None:
    ids = []
    for text in ("Check the status", "Rotate early"):
        shell.call("store_memory", pattern=lesson(text, id="mine"))
        ids.append(shell.call("forget_memory", patternId="mine", reason="no")["archiveId"])
    code, told = shell.restore("mine")
    assert (code, all(id_ in told["stderr"] for id_ in ids)) == (2, True)
    assert shell.restore(ids[0])[0] == 0
    assert shell.restore(ids[1])[1] == {"programId": "basher", "restored": True, "patternId": "mine-2", "was": "mine"}


def test_a_lesson_that_was_learnt_again_stays_in_the_archive(shell: Shell) -> None:
    shell.call("store_memory", pattern=lesson("Check the status", id="mine"))
    shell.call("forget_memory", patternId="mine", reason="no")
    shell.call("store_memory", pattern=lesson("check the status!", id="again"))
    code, told = shell.restore("mine")
    assert (code, told["restored"], "'again'" in told["reason"]) == (1, False, True)
    assert len(shell.restore()[1]["archive"]) == 1


def test_a_note_is_restored_where_it_fits(shell: Shell) -> None:
    shell.call("add_note", text="Port 8081 is taken", pinned=True)
    shell.call("remove_note", noteId="n1")
    for _ in range(2):
        shell.call("add_note", text="\n".join("x" * 40))
    code, told = shell.restore("n1")
    assert (code, told["reason"]) == (
        1,
        "its notes have 80 of 80 lines, so others would be evicted; remove some first",
    )
    shell.call("remove_note", noteId="n3")
    assert shell.restore("n1") == (0, {"programId": "basher", "restored": True, "noteId": "n1"})
    assert {note["id"]: note["pinned"] for note in shell.call("get_program_state")["notes"]} == {
        "n1": True,
        "n2": False,
    }
    assert shell.call("add_note", text="Another")["noteId"] == "n4"


def test_an_unknown_lesson_cannot_be_forgotten_and_whose_archive_must_be_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = {"programId": "basher", "patternId": "mine", "reason": "no"}
    assert main(["call", "forget_memory", json.dumps(arguments)]) == 1
    assert "pattern_not_found" in capsys.readouterr().err
    assert main(["restore"]) == 2
    assert "--program: required" in capsys.readouterr().err
