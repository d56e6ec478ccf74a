"""`doctor`: each line is true and gives advice, and nothing is left behind."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fleet_memory import __version__
from fleet_memory.cli import main
from fleet_memory.clients.entries import EVENTS
from fleet_memory.settings import default_path
from tests.homes import put_value, use_command, use_home


@pytest.fixture(autouse=True)
def command(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    return use_command(tmp_path_factory.mktemp("bin"), monkeypatch)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(tmp_path, monkeypatch)
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    folder = tmp_path / "proj"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return tmp_path


def install(client: str, *words: str) -> int:
    return main(["install", client, "--yes", "--embedder", "lexical", *words])


def doctor(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    capsys.readouterr()
    code = main(["doctor", "--json", *words])
    content = json.loads(capsys.readouterr().out)
    assert (
        content["healthy"] == (code == 0) == all(finding["ok"] for finding in content["findings"])
    )
    return code, {finding.pop("name"): finding for finding in content["findings"]}


def tree(home: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in home.rglob("*") if file.is_file()}


def test_on_a_new_machine_it_gives_advice_and_creates_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = doctor(capsys)
    assert code == 1
    assert found["clients"] == {
        "ok": False,
        "text": "none starts the server",
        "advice": "fleet-memory install CLIENT",
    }
    assert found["store"]["text"] == f"{default_path()}, not there yet; the first store makes it"
    assert found["agent"]["text"] == "proj in this folder; nothing is stored yet"
    assert __version__ in found["package"]["text"]
    assert tree(home) == {}


def test_it_starts_each_client_s_server_and_counts_its_tokens(
    home: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".gemini").mkdir()
    install("cursor", "--agent", "basher")
    before = tree(home)
    code, found = doctor(capsys)
    assert code == 0
    assert (
        f"runs {command} as basher by {home / '.cursor' / 'mcp.json'}: " in found["cursor"]["text"]
    )
    assert re.search(
        r": 7 tools \(core,session\), 2 of them always loaded, \d,\d{3} tokens$",
        found["cursor"]["text"],
    )
    assert found["gemini"] == {
        "ok": True,
        "text": "is here, without fleet-memory",
        "advice": "fleet-memory install gemini",
    }
    assert "codex" not in found
    assert tree(home) == before


def test_it_reads_the_agent_s_boot_without_a_trace(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson = {
        "pattern": "Retries must be idempotent",
        "domain": "ops",
        "confidence": 0.9,
        "evidence": "seen",
    }
    assert main(["call", "store_memory", json.dumps({"programId": "proj", "pattern": lesson})]) == 0
    install("cursor")
    before = tree(home)
    _, found = doctor(capsys)
    assert found["agent"]["ok"]
    assert found["agent"]["text"].startswith("proj in this folder; its boot costs ")
    assert tree(home) == before


def test_it_shows_the_memory_of_a_client_that_has_another(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("cursor")
    file = home / ".cursor/mcp.json"
    path = ("mcpServers", "fleet-memory", "env")
    put_value(file, path, {"FLEET_MEMORY_STORE": "team.db"})
    _, found = doctor(capsys)
    assert found["cursor"]["text"].endswith(" tokens, memory team.db")


def test_a_command_that_is_gone_is_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install("cursor")
    file = home / ".cursor/mcp.json"
    put_value(file, ("mcpServers", "fleet-memory", "command"), "/gone/fleet-memory")
    code, found = doctor(capsys)
    assert code == 1
    assert found["cursor"] == {
        "ok": False,
        "text": f"{file} starts /gone/fleet-memory: there is no command '/gone/fleet-memory' here",
        "advice": "fleet-memory install cursor",
    }


def test_a_server_that_a_setting_ends_is_found_with_its_reason(
    home: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install("cursor")
    file = home / ".cursor/mcp.json"
    words = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]["fleet-memory"]["args"]
    wrong = [*words[: words.index("serve") + 1], "--embedder", "fastembed:a-model"]
    put_value(file, ("mcpServers", "fleet-memory"), {"command": command, "args": wrong})
    code, found = doctor(capsys)
    assert code == 1
    assert (
        "it does not answer: fleet-memory: --embedder: 'fastembed:a-model' is unknown."
        in found["cursor"]["text"]
    )
    advice = "correct the setting that it names: fleet-memory install cursor with another value"
    assert found["cursor"]["advice"] == advice


def test_settings_of_this_shell_that_a_client_will_not_have_are_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(home / "team.db"))
    assert main(["install", "cursor", "--yes", "--embedder", "lexical"]) == 1
    assert "FLEET_MEMORY_STORE: set here and not in cursor's entry" in capsys.readouterr().out
    code, found = doctor(capsys)
    assert (code, found["cursor"]["ok"]) == (1, False)
    assert found["cursor"]["advice"] == "pass it as a flag to fleet-memory install cursor"
    install("cursor", "--store", str(home / "team.db"))
    assert doctor(capsys)[0] == 0


def test_a_remote_server_is_named_and_not_started(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"fleet-memory": {"url": "https://fleet.example/mcp"}}}')
    code, found = doctor(capsys)
    assert code == 0
    assert found["cursor"] == {
        "ok": True,
        "text": f"{file} names a remote server, which was not asked",
        "advice": "fleet-memory doctor --url https://fleet.example/mcp",
    }


def test_a_file_that_cannot_be_read_is_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text("{")
    code, found = doctor(capsys)
    assert code == 1
    assert found["cursor"]["text"].startswith(f"{home / '.cursor' / 'mcp.json'}: not JSON")


@pytest.mark.usefixtures("home")
def test_hooks_are_counted_over_all_files_and_the_plugin(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("claude-code")
    _, found = doctor(capsys)
    assert found["hooks"] == {"ok": True, "text": f"{', '.join(EVENTS)}: each once"}
    local = home / "proj/.claude/settings.local.json"
    local.parent.mkdir()
    local.write_text(
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "fleet-memory hook '
        'Stop"}]}]}}'
    )
    code, found = doctor(capsys)
    assert (code, found["hooks"]["text"]) == (1, "do not run exactly once: Stop 2 times")
    assert "--undo" in found["hooks"]["advice"]
    local.write_text('{"enabledPlugins": {"fleet-memory@fleet-memory": true}}')
    code, found = doctor(capsys)
    assert code == 1
    assert found["hooks"]["advice"] == "claude plugin uninstall fleet-memory@fleet-memory"
    assert "twice" in found["claude-code"]["text"]


def test_in_the_home_folder_hooks_are_counted_once(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    install("claude-code")
    assert doctor(capsys)[1]["hooks"]["text"] == f"{', '.join(EVENTS)}: each once"


def test_a_store_that_cannot_be_made_is_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "file").touch()
    code, found = doctor(capsys, "--store", str(home / "file/memory.db"))
    assert code == 1
    assert found["store"]["text"] == f"{home / 'file' / 'memory.db'} is not writable"


def test_install_prints_the_same_as_json_and_shows_the_change_on_stderr(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "cursor", "--yes", "--json", "--embedder", "lexical"]) == 0
    out, err = capsys.readouterr()
    content = json.loads(out)
    assert (content["client"], content["written"]) == ("cursor", True)
    assert content["files"] == [str(home / ".cursor" / "mcp.json")]
    assert "  + mcpServers.fleet-memory: " in err
