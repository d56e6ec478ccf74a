"""Installing into clients: what is there stays, twice is once, and undo restores the bytes."""

import io
import json
import stat
import sys
import tomllib
from pathlib import Path

import pytest
from json5.loader import loads

from fleet_memory.cli import main
from fleet_memory.integration import jsonc
from fleet_memory.integration.clients import HOOKS

CLAUDE_JSON = '{"numStartups":7,"mcpServers":{"weather":{"command":"npx"}},"projects":{"/a":{"history":[]}}}'
CLAUDE_SETTINGS = """{
    "permissions": {"allow": ["Bash(git status)"]},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ]
    }
}
"""
CURSOR = '\ufeff{\r\n  "mcpServers": {\r\n    "weather": {\r\n      "command": "npx"\r\n    }\r\n  }\r\n}\r\n'
VSCODE = """\
// Servers of the team
{
\t"servers": {
\t\t"weather": { "type": "stdio", "command": "npx" }, // needs Node
\t},
\t/* nothing yet */
\t"inputs": []
}
"""
CODEX = """\
# My Codex
model = "some-model"

[mcp_servers.weather] # needs Node
command = "npx"
args = [
  "-y", # yes
  "weather",
]

[profiles.fast]
model = "another"
"""
# client -> the files it reads under the home folder, and what somebody has in them
FILES = {
    "claude-code": {".claude.json": CLAUDE_JSON, ".claude/settings.json": CLAUDE_SETTINGS},
    "claude-desktop": {".config/Claude/claude_desktop_config.json": ""},
    "cursor": {".cursor/mcp.json": CURSOR},
    "vscode": {".config/Code/User/mcp.json": VSCODE},
    "codex": {".codex/config.toml": CODEX},
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(home: Path, client: str) -> dict[Path, bytes]:
    files = {home / name: text.encode() for name, text in FILES[client].items() if text}
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return files


def contents(home: Path, client: str) -> dict[Path, bytes]:
    return {home / name: (home / name).read_bytes() for name in FILES[client] if (home / name).exists()}


@pytest.mark.parametrize("client", FILES)
def test_installing_twice_is_installing_once_and_undo_restores_the_bytes(home: Path, client: str) -> None:
    before = put(home, client)
    assert main(["install", client, "--yes"]) == 0
    once = contents(home, client)
    assert once.keys() == {home / name for name in FILES[client]}
    assert all(once[file] != content for file, content in before.items())
    assert main(["install", client, "--yes"]) == 0
    assert contents(home, client) == once
    assert main(["install", client, "--undo", "--yes"]) == 0
    assert contents(home, client) == before
    assert main(["install", client, "--undo", "--yes"]) == 0
    assert contents(home, client) == before


@pytest.mark.parametrize("client", FILES)
def test_what_was_there_stays_line_by_line(home: Path, client: str) -> None:
    before = put(home, client)
    main(["install", client, "--yes"])
    for file, content in before.items():
        after = iter(file.read_text(encoding="utf-8-sig").splitlines())
        lines = [line for line in content.decode("utf-8-sig").splitlines() if "{" not in line]
        missing = [line for line in lines if not any(line.rstrip(",") == other.rstrip(",") for other in after)]
        assert missing == []


def test_the_entry_starts_this_version_with_the_given_settings(home: Path) -> None:
    put(home, "vscode")
    main(["install", "vscode", "--yes", "--program", "basher", "--store", "team.db"])
    entry = loads((home / ".config/Code/User/mcp.json").read_text())["servers"]["fleet-memory"]
    assert entry == {
        "type": "stdio",
        "command": sys.executable,
        "args": [
            *["-m", "fleet_memory", "serve", "--store", str(home / "team.db")],
            *["--program", "basher", "--toolsets", "core,state"],
        ],
    }


def test_other_settings_replace_the_entry_and_undo_still_leads_back_to_the_first(home: Path) -> None:
    before = put(home, "codex")
    for program in ("basher", "sark"):
        main(["install", "codex", "--yes", "--program", program])
    (server,) = [tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]["fleet-memory"]]
    assert server["args"][3:5] == ["--program", "sark"]
    main(["install", "codex", "--undo", "--yes"])
    assert contents(home, "codex") == before


def test_claude_code_gets_the_server_and_a_hook_for_each_event(home: Path) -> None:
    put(home, "claude-code")
    main(["install", "claude-code", "--yes", "--program", "basher"])
    assert json.loads((home / ".claude.json").read_text())["mcpServers"]["fleet-memory"]["type"] == "stdio"
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    commands = {
        event: [each["command"] for group in groups for each in group["hooks"]] for event, groups in hooks.items()
    }
    ours = {event: f"{sys.executable} -m fleet_memory hook {event} --program basher" for event in commands}
    assert commands == {
        "Stop": ["say done", ours["Stop"]],
        **{event: [ours[event]] for event in HOOKS if event != "Stop"},
    }
    assert "matcher" not in hooks["SessionStart"][0]  # every source


def test_hooks_of_other_settings_are_replaced_not_doubled(home: Path) -> None:
    put(home, "claude-code")
    for program in ("basher", "sark"):
        main(["install", "claude-code", "--yes", "--program", program])
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    assert [len(groups) for groups in hooks.values()] == [2, *[1] * (len(HOOKS) - 1)]


def test_in_a_project_only_files_of_the_project_change(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        for client in ("claude-code", "cursor", "vscode"):
            assert main(["install", client, "--project", "--yes"]) == 0
    made = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert made == {".mcp.json", ".claude/settings.json", ".cursor/mcp.json", ".vscode/mcp.json"}


def test_a_file_that_changed_since_loses_our_entry_only(home: Path) -> None:
    put(home, "claude-code")
    main(["install", "claude-code", "--yes"])
    for name in (".claude.json", ".claude/settings.json"):
        file = home / name
        file.write_text(jsonc.with_member(file.read_text(), ("later",), "added"))
    main(["install", "claude-code", "--undo", "--yes"])
    assert json.loads((home / ".claude.json").read_text()) == {**json.loads(CLAUDE_JSON), "later": "added"}
    assert json.loads((home / ".claude/settings.json").read_text()) == {**json.loads(CLAUDE_SETTINGS), "later": "added"}


def test_a_table_of_a_changed_file_is_taken_out_too(home: Path) -> None:
    put(home, "codex")
    main(["install", "codex", "--yes"])
    file = home / ".codex/config.toml"
    file.write_text(file.read_text() + "\n[later]\nadded = true\n")
    main(["install", "codex", "--undo", "--yes"])
    assert tomllib.loads(file.read_text()) == {**tomllib.loads(CODEX), "later": {"added": True}}
    assert "# needs Node" in file.read_text()


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text(CLAUDE_JSON)
    real.chmod(0o600)
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(real)
    main(["install", "cursor", "--yes"])
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "fleet-memory" in json.loads(real.read_text())["mcpServers"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.parametrize(("answer", "code", "changed"), [("y\n", 0, True), ("\n", 2, False), ("n\n", 2, False)])
def test_a_person_is_asked_first(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    code: int,
    *,
    changed: bool,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    before = put(home, "vscode")
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert main(["install", "vscode"]) == code
    assert '+\t\t"fleet-memory": {' in capsys.readouterr().out
    assert (contents(home, "vscode") != before) == changed


def test_without_a_terminal_it_wants_yes(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = put(home, "vscode")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["install", "vscode"]) == 2
    assert "pass --yes" in capsys.readouterr().err
    assert main(["install", "vscode", "--dry-run"]) == 0
    assert contents(home, "vscode") == before


@pytest.mark.parametrize(
    ("client", "name", "content", "told"),
    [
        ("cursor", ".cursor/mcp.json", b'{"mcpServers": {\n "a" 1}}', "line 2"),
        ("cursor", ".cursor/mcp.json", b'{"mcpServers": []}', "mcpServers is no object"),
        ("cursor", ".cursor/mcp.json", b"\xff\xfe{}", "not UTF-8"),
        ("codex", ".codex/config.toml", b"model = \n", "line 1"),
        ("codex", ".codex/config.toml", b"mcp_servers = 3\n", "'mcp_servers' is no table"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone_and_named(
    home: Path, capsys: pytest.CaptureFixture[str], client: str, name: str, content: bytes, told: str
) -> None:
    (home / name).parent.mkdir()
    (home / name).write_bytes(content)
    assert main(["install", client, "--yes"]) == 2
    complaint = capsys.readouterr().err
    assert str(home / name) in complaint
    assert told in complaint
    assert (home / name).read_bytes() == content


@pytest.mark.parametrize(("arguments", "told"), [(["emacs"], "CLIENT"), (["codex", "--project"], "--project")])
def test_what_does_not_exist_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(["install", *arguments, "--yes"]) == 2
    assert told in capsys.readouterr().err
