"""The command line: its output, its streams and its exit codes."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from fleet_memory import __version__
from fleet_memory.cli import COMMANDS, Command, main
from fleet_memory.errors import ConflictError
from fleet_memory.schemas.value import Value
from fleet_memory.server.app import call_in_process
from fleet_memory.settings import SETTINGS
from tests.matrix import toyset

MAX_WIDTH = 110  # characters of a line of help
MAX_LINES = {
    "serve": 75
}  # of a page of help; 50, one screen, but for the one command that takes every setting
PATTERN = {
    "pattern": "Look before you leap – 日本",
    "domain": "care",
    "confidence": 0.9,
    "evidence": "It hurt",
}
STORE = {"programId": "basher", "pattern": PATTERN}


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")


def call(tool: str, arguments: dict[str, Any], *flags: str) -> int:
    return main(["call", tool, json.dumps(arguments), *flags])


def test_a_call_prints_one_compact_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("store_memory", STORE) == 0
    assert '"status":"created","programId":"basher","patternId":' in capsys.readouterr().out
    assert call("recall_memory", {"programId": "basher"}) == 0
    (pattern,) = json.loads(capsys.readouterr().out)["patterns"]
    assert pattern["pattern"] == "Look before you leap – 日本"


def test_a_person_at_a_terminal_gets_it_indented(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert call("memory_health", {"programId": "basher"}) == 0
    out = capsys.readouterr().out
    assert '\n  "programId": "basher",\n' in out
    assert json.loads(out)["exists"] is False


def test_arguments_may_come_from_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(STORE)))
    assert main(["call", "store_memory", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "created"


def test_arguments_from_stdin_are_utf_8_under_any_locale_and_may_have_a_byte_order_mark(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = json.dumps(STORE, ensure_ascii=False)
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(f"\ufeff{sent}".encode()), encoding="cp1252")
    )
    assert main(["call", "store_memory", "-"]) == 0
    assert call("recall_memory", {"programId": "basher"}) == 0
    assert "Look before you leap – 日本" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b'{"a": "\xe9"}', "stdin is not UTF-8 text (character 7)"),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_arguments_from_stdin_that_cannot_be_read_are_refused_for_that(
    sent: bytes, reason: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent), encoding="utf-8"))
    assert main(["call", "store_memory", "-"]) == 2
    assert capsys.readouterr().err == f"fleet-memory: JSON: {reason}\n"


def test_a_closed_stdin_is_empty_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["call", "store_memory", "-"]) == 2
    assert capsys.readouterr().err.startswith("fleet-memory: JSON: ")


@pytest.mark.parametrize(
    "words",
    [
        ["--program", "basher", "recall_memory", '{"programId": "basher"}'],
        ["recall_memory", "--program", "basher", '{"programId": "basher"}'],
        ["recall_memory", '{"programId": "basher"}', "--program", "basher"],
    ],
)
def test_flags_may_stand_before_between_and_after_the_words(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", *words]) == 0
    assert json.loads(capsys.readouterr().out)["exists"] is False


def test_settings_may_stand_before_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = ["--store", str(tmp_path / "other.db"), "--fleet=reds"]
    assert main([*elsewhere, "call", "store_memory", json.dumps(STORE)]) == 0
    assert main(["call", *elsewhere, "recall_memory", '{"programId": "basher"}']) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1])["total"] == 1


def test_a_setting_that_does_not_count_is_refused_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["maintain", "--toolsets", "all"])
    assert "unrecognized arguments: --toolsets" in capsys.readouterr().err


def test_the_environment_of_a_setting_that_does_not_count_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_TOOLSETS", "no such")
    assert main(["policy", "set", "threshold", "3"]) == 0


def test_the_environment_s_program_binds_every_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "basher")
    assert main(["policy", "set", "threshold", "3"]) == 1
    assert "only an operator" in capsys.readouterr().err


class Done(Value):
    done: bool = True


async def lose_race() -> Done:
    """Lose."""
    raise ConflictError("Someone else wrote first.")


async def crash() -> Done:
    """Crash."""
    raise RuntimeError("/secret")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["store_memory", '{"programId": "basher"}'], 2, "invalid_argument: pattern: required"),
        (["store_memory", "{broken"], 2, "JSON: Expecting property name"),
        (["store_memory", "[1]"], 2, "JSON: must be an object"),
        (
            ["stor_memory", "{}"],
            2,
            "invalid_argument: stor_memory: unknown tool, did you mean store_memory?",
        ),
        (
            ["reinforce_memory", '{"programId": "a", "patternId": "p"}'],
            1,
            "pattern_not_found: a has no lesson 'p'.",
        ),
        (["memory_health", '{"programId": "a"}', "--program", "b"], 1, "forbidden: You are b "),
        (
            ["memory_health", '{"programId": "a"}', "--store", "{file}/memory.db"],
            3,
            "store_unavailable: ",
        ),
        (["memory_health", "{}", "--fleet", "a b"], 2, "--fleet: 'a b' is no name"),
    ],
)
def test_a_refusal_goes_to_stderr_with_the_exit_code_of_its_reason(
    arguments: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("a file where a folder should be")
    assert (
        main(["call", *(each.replace("{file}", str(tmp_path / "file")) for each in arguments)])
        == code
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"fleet-memory: {said}")


@pytest.mark.parametrize(("tool", "code"), [("lose_race", 4), ("crash", 5)])
def test_a_conflict_and_a_crash_have_codes_of_their_own(
    tool: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_in_process, "__defaults__", ([toyset(lose_race, crash)],))
    assert call(tool, {}) == code
    assert "/secret" not in capsys.readouterr().err


def test_a_duplicate_is_a_no(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("store_memory", STORE) == 0
    again = {**STORE, "pattern": {**PATTERN, "id": "another"}, "onDuplicate": "reject"}
    assert call("store_memory", again) == 1
    assert '"status":"duplicate"' in capsys.readouterr().out


def test_doctor_creates_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "memory.db"
    assert main(["doctor", "store", "--json"]) == 1, "a store that is named should be there"
    report = json.loads(capsys.readouterr().out)
    assert (report["healthy"], report["exists"], report["embedder"]) == (False, False, "lexical/1")
    assert main(["doctor", "memory"]) == 1
    assert f"there is no memory at {path}" in capsys.readouterr().err
    assert not path.exists()


def test_a_user_without_a_memory_yet_may_begin_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FLEET_MEMORY_STORE")
    monkeypatch.setattr(platformdirs, "user_data_path", lambda *_, **__: tmp_path / "a" / "b")
    assert main(["doctor", "store"]) == 0
    monkeypatch.setattr(platformdirs, "user_data_path", lambda *_, **__: tmp_path / "file" / "b")
    (tmp_path / "file").write_text("a file where a folder should be")
    assert main(["doctor", "store"]) == 1
    assert "is not writable" in capsys.readouterr().out


def test_doctor_counts_the_documents_of_a_memory_and_says_whether_it_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("store_memory", STORE)
    capsys.readouterr()
    assert main(["doctor", "store", "memory", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["intact"], report["programs"], report["documents"]) == (True, 1, {"programs": 1})
    assert report["verdict"] == "healthy"
    assert {finding["name"]: finding["ok"] for finding in report["findings"]} == dict.fromkeys(
        ("python", "package", "embedder", "store", "documents", "memory"), True
    )
    assert main(["doctor", "store"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("healthy        yes\nfindings:\n  ok   name       text\n")
    assert f"{tmp_path / 'memory.db'}\n" in out
    assert "\ndocuments      programs 1\n" in out


def test_doctor_exits_with_3_where_the_file_is_no_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "memory.db").write_bytes(b"not a database, " * 1000)
    assert main(["doctor", "store", "memory", "--json"]) == 3
    report = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in report["findings"] if not each["ok"]] == ["memory"]


def test_doctor_refuses_an_unknown_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "stores"]) == 2
    assert "stores: is no part; there are store, memory, clients" in capsys.readouterr().err


def test_without_a_command_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "serve an MCP client" in capsys.readouterr().out


def test_it_knows_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"fleet-memory {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sevre"], "'sevre' is no command; did you mean serve?"),
        (["zzz", "--json"], "'zzz' is no command; `fleet-memory --help` lists them"),
        (["list"], "'list' is no command; list has lessons, entries, programs, domains, log"),
        (["list", "agents"], "'list agents' is no command; list has lessons, entries, "),
        (["retire", "k", "--why", "w"], "'retire' is `fleet-memory entry retire` now"),
        (["--store", "x.db", "who"], "'who' is `fleet-memory list programs` now"),
    ],
)
def test_a_wrong_command_is_one_line_that_names_the_right_one(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"fleet-memory: {said}")


def test_a_group_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["entry", "--help"])
    out = capsys.readouterr().out
    assert "  entry retire " in out
    assert "  lesson " not in out


def modules_after(statement: str, *names: str) -> set[str]:
    """Return those of the modules that a new interpreter has imported after a statement."""
    script = f"{statement}; import sys; print(*(set(sys.modules) & set({names})), file=sys.stderr)"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def test_help_imports_no_command_and_nothing_that_takes_long() -> None:
    heavy = ["mcp"]  # toolsets are imported, for their commands
    commands = [f"fleet_memory.cli.{command.module}" for command in COMMANDS]
    assert modules_after("from fleet_memory.cli import main; main([])", *heavy, *commands) == set()


def test_a_command_imports_no_other() -> None:
    commands = [f"fleet_memory.cli.{command.module}" for command in COMMANDS]
    statement = "from fleet_memory.cli import main; main(['show', 'key', '--embedder', 'none'])"
    assert modules_after(statement, "mcp", *commands) == {"fleet_memory.cli.reading"}


def test_serving_one_client_imports_nothing_of_http() -> None:
    http = [
        "fleet_memory.server.http",
        "h11",
        "jwt",
        "prometheus_client",
        "uvicorn.protocols",
    ]  # mcp imports uvicorn
    serving = "import fleet_memory.cli.serve, fleet_memory.server.stdio, fleet_memory.server.app"
    assert modules_after(serving, *http) == set()


def test_serving_imports_no_engine_before_its_first_answer() -> None:
    engines = ["google", "numpy", "onnxruntime", "tokenizers"]
    assert (
        modules_after("import fleet_memory.server.stdio, fleet_memory.server.app", *engines)
        == set()
    )


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*name.split(), "--help"])
    page = capsys.readouterr().out
    assert page.startswith(f"usage: fleet-memory {name} [-h]")
    assert "\nexit codes: 0 done, " in page
    assert max(map(len, page.splitlines())) <= MAX_WIDTH
    assert len(page.splitlines()) <= MAX_LINES.get(name, 50)


@pytest.mark.parametrize("name", [each.name for each in COMMANDS if each.has_json])
def test_every_other_command_answers_a_program_in_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*name.split(), "--help"])
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_an_example_and_names_settings_that_there_are(command: Command) -> None:
    assert f"fleet-memory {command.name}" in command.example
    assert set(command.uses) <= {setting.name for setting in SETTINGS}


@pytest.mark.parametrize(
    "words",
    [
        ["search", "caf\udce9"],
        ["purge", "--text", "caf\udce9", "--dry-run"],
        ["lesson", "forget", "caf\udce9", "--all", "--dry-run"],
        ["entry", "retire", "key", "--why", "caf\udce9"],
    ],
)
def test_an_argument_that_is_not_utf_8_is_named(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "'caf\\udce9': is not UTF-8 text" in capsys.readouterr().err
