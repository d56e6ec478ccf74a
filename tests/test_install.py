"""Installing into clients: an owner's content stays, twice is once, and undo leaves nothing."""

import io
import json
import os
import stat
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fleet_memory import __version__
from fleet_memory.cli import main
from fleet_memory.clients.clients import shell_command
from fleet_memory.clients.entries import EVENTS, HOOKED_TOOLS
from fleet_memory.clients.identity import user_state
from fleet_memory.clients.moments import Moment, write_index
from fleet_memory.moment import TOOL_EVENTS
from tests.homes import put_codex, put_value, use_home

CLAUDE_JSON = (
    '{"numStartups":7,"mcpServers":{"weather":{"command":"npx"}},"projects":{"/a":{"history":[]}}}'
)
CLAUDE_SETTINGS = """{
    "permissions": {"allow": ["Bash(git status)"]},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ]
    }
}
"""
CURSOR = (
    '\ufeff{\r\n  "mcpServers": {\r\n    "weather": {\r\n      "command": "npx"\r\n    '
    "}\r\n  }\r\n}\r\n"
)
VSCODE = """\
{
\t"servers": {
\t\t"weather": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx"
\t\t}
\t},
\t"inputs": []
}
"""
COMMENTED = """\
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
# client -> the files it reads under the home folder, and their contents
FILES = {
    "claude-code": {".claude.json": CLAUDE_JSON, ".claude/settings.json": CLAUDE_SETTINGS},
    "claude-desktop": {".config/Claude/claude_desktop_config.json": ""},
    "cursor": {".cursor/mcp.json": CURSOR},
    "vscode": {".config/Code/User/mcp.json": VSCODE},
    "codex": {".codex/config.toml": CODEX},
    "gemini": {".gemini/settings.json": CLAUDE_SETTINGS},
    "windsurf": {".codeium/windsurf/mcp_config.json": '{"mcpServers": {"a": {"command": "b"}}}'},
    "opencode": {".config/opencode/opencode.jsonc": VSCODE},
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(tmp_path, monkeypatch)
    put_codex(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def install(client: str, *words: str) -> int:
    return main(["install", client, "--yes", *words])


def put(home: Path, client: str) -> dict[Path, bytes]:
    files = {home / name: text.encode() for name, text in FILES[client].items() if text}
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return files


def contents(home: Path, client: str) -> dict[Path, bytes]:
    return {
        home / name: (home / name).read_bytes() for name in FILES[client] if (home / name).exists()
    }


def meaning(files: dict[Path, bytes]) -> dict[Path, object]:
    return {
        file: tomllib.loads(content.decode())
        if file.suffix == ".toml"
        else json.loads(content.decode("utf-8-sig"))
        for file, content in files.items()
    }


@pytest.mark.parametrize("client", FILES)
def test_installing_twice_is_installing_once_and_undo_leaves_what_was_there(
    home: Path, client: str
) -> None:
    before = put(home, client)
    assert install(client) == 0
    once = contents(home, client)
    assert once.keys() == {home / name for name in FILES[client]}
    assert all(once[file] != content for file, content in before.items())
    assert install(client) == 0
    assert contents(home, client) == once
    assert install(client, "--undo") == 0
    assert meaning(contents(home, client)) == meaning(before)
    assert install(client, "--undo") == 0
    assert meaning(contents(home, client)) == meaning(before)


@pytest.mark.parametrize("client", ["cursor", "vscode"])
def test_a_file_in_one_manner_is_left_as_it_was_to_the_byte(home: Path, client: str) -> None:
    before = put(home, client)
    install(client)
    install(client, "--program", "basher")
    install(client, "--undo")
    assert contents(home, client) == before


def test_a_file_with_comments_is_not_written_and_the_refusal_says_what_to_add(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".config/Code/User/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(COMMENTED)
    assert install("vscode") == 2
    snippet = capsys.readouterr().err.partition("and add:\n")[2]
    assert file.read_text() == COMMENTED
    entry = json.dumps(json.loads(snippet)["servers"])[1:-1]
    file.write_text(COMMENTED.replace('"servers": {', f'"servers": {{ {entry},'))
    assert install("vscode") == 0
    assert "Nothing to do: vscode already has fleet-memory" in capsys.readouterr().out
    assert install("vscode", "--undo") == 2
    assert "take out all of fleet-memory" in capsys.readouterr().err


def test_the_entry_starts_this_version_with_the_given_settings(home: Path) -> None:
    put(home, "vscode")
    install("vscode", "--program", "basher", "--store", "team.db")
    servers = json.loads((home / ".config/Code/User/mcp.json").read_text())["servers"]
    assert isinstance(servers, dict)
    assert servers["fleet-memory"] == {
        "type": "stdio",
        "command": sys.executable,
        "args": [
            *["-P", "-m", "fleet_memory", "serve", "--store", str(home / "team.db")],
            *["--program", "basher", "--toolsets", "core,session"],
        ],
    }


def test_claude_code_gets_the_server_and_a_hook_for_each_event(home: Path) -> None:
    put(home, "claude-code")
    install("claude-code", "--program", "basher")
    assert (
        json.loads((home / ".claude.json").read_text())["mcpServers"]["fleet-memory"]["type"]
        == "stdio"
    )
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    commands = {
        event: [each["command"] for group in groups for each in group["hooks"]]
        for event, groups in hooks.items()
    }
    words = [sys.executable, "-P", "-m", "fleet_memory", "hook"]
    ours = {
        event: shell_command(
            [*words, event, "--program", "basher"], windows=sys.platform == "win32"
        )
        for event in commands
    }
    assert commands == {
        "Stop": ["say done", ours["Stop"]],
        **{event: [ours[event]] for event in EVENTS if event != "Stop"},
    }


def test_in_a_project_only_files_of_the_project_change(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        for client in ("claude-code", "cursor", "vscode"):
            assert install(client, "--project") == 0
    made = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert made == {".mcp.json", ".claude/settings.json", ".cursor/mcp.json", ".vscode/mcp.json"}


def test_a_file_that_changed_since_loses_our_entry_only(home: Path) -> None:
    put(home, "claude-code")
    install("claude-code")
    for name in (".claude.json", ".claude/settings.json"):
        file = home / name
        put_value(file, ("later",), "added")
    install("claude-code", "--undo")
    assert json.loads((home / ".claude.json").read_text()) == {
        **json.loads(CLAUDE_JSON),
        "later": "added",
    }
    assert json.loads((home / ".claude/settings.json").read_text()) == {
        **json.loads(CLAUDE_SETTINGS),
        "later": "added",
    }


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_link_stays_a_link_and_a_file_keeps_its_mode(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text(CLAUDE_JSON)
    real.chmod(0o600)
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(real)
    install("cursor")
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "fleet-memory" in json.loads(real.read_text())["mcpServers"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("answer", "code", "changed"), [("y\n", 0, True), ("\n", 1, False), ("n\n", 1, False)]
)
def test_a_person_is_asked_first(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    code: int,
    *,
    changed: bool,
) -> None:
    before = put(home, "vscode")
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert main(["install", "vscode"]) == code
    assert "\n  + servers.fleet-memory: " in capsys.readouterr().err
    assert (contents(home, "vscode") != before) == changed


def shown(capsys: pytest.CaptureFixture[str], home: Path, *words: str) -> list[str]:
    """Return the lines that a dry run prints."""
    capsys.readouterr()
    assert main(["install", *words, "--dry-run"]) == 0
    out, err = capsys.readouterr()
    err = err.replace(str(home), "~").replace(sys.executable, "python")
    return [*err.splitlines(), out.splitlines()[-1]]


ENDING = ["All else in these files stays.", "Nothing was changed."]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other separators and quotes")
def test_each_value_that_comes_or_goes_has_one_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(home, "claude-code")
    hook, events = (
        "python -P -m fleet_memory hook",
        ["Stop", *(event for event in EVENTS if event != "Stop")],
    )
    assert shown(capsys, home, "claude-code") == [
        "~/.claude.json",
        "  + mcpServers.fleet-memory: python -P -m fleet_memory serve --toolsets core,session",
        "~/.claude/settings.json",
        *(
            line
            for event in events
            for line in (
                *([f'  + hooks.{event}.matcher: "{HOOKED_TOOLS}"'] if event in TOOL_EVENTS else []),
                f"  + hooks.{event}.hooks: {hook} {event}",
            )
        ),
        *ENDING,
    ]
    install("claude-code")
    assert shown(capsys, home, "claude-code", "--program", "basher") == [
        "~/.claude.json",
        "  - mcpServers.fleet-memory: python -P -m fleet_memory serve --toolsets core,session",
        "  + mcpServers.fleet-memory: python -P -m fleet_memory serve --program basher "
        "--toolsets core,session",
        "~/.claude/settings.json",
        *(f"  - hooks.{event}.hooks: {hook} {event}" for event in events),
        *(f"  + hooks.{event}.hooks: {hook} {event} --program basher" for event in events),
        *ENDING,
    ]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other separators and quotes")
@pytest.mark.parametrize(
    ("client", "text", "lines"),
    [
        (
            "vscode",
            '{"servers": {"fleet-memory": {"command": "docker", "args": ["run"], '
            '"env": {"A": "b"}}}}',
            [
                '  - servers.fleet-memory.command: "docker"',
                '  - servers.fleet-memory.args: ["run"]',
                '  + servers.fleet-memory.command: "python"',
                '  + servers.fleet-memory.args: ["-P", "-m", "fleet_memory", "serve", '
                '"--toolsets", "core,session"]',
                '  + servers.fleet-memory.type: "stdio"',
            ],
        ),
        (
            "opencode",
            '{"mcp": {"other": {"command": "a", "args": null}, "odd": {"command": []}}}',
            [
                "  + mcp.fleet-memory: python -P -m fleet_memory serve --toolsets core,session",
            ],
        ),
        (
            "codex",
            'born = 1979-05-27\n[mcp_servers.fleet-memory]\ncommand = "docker"\nargs = [\n]\n',
            [
                "  - mcp_servers.fleet-memory: docker",
                "  + mcp_servers.fleet-memory: python -P -m fleet_memory serve --toolsets "
                "core,session",
                "  by: codex mcp add fleet-memory -- python -P -m fleet_memory serve --toolsets "
                "core,session",
            ],
        ),
    ],
)
def test_all_that_an_owner_s_entry_loses_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str], client: str, text: str, lines: list[str]
) -> None:
    (name,) = FILES[client]
    (home / name).parent.mkdir(parents=True)
    (home / name).write_text(text)
    assert shown(capsys, home, client) == [f"~/{name}", *lines, *ENDING]


def test_without_a_terminal_it_wants_yes(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = put(home, "vscode")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["install", "vscode"]) == 1
    assert "pass --yes" in capsys.readouterr().err
    assert main(["install", "vscode", "--dry-run"]) == 0
    assert contents(home, "vscode") == before


@pytest.mark.parametrize(
    ("client", "name", "content", "problem"),
    [
        ("cursor", ".cursor/mcp.json", b'{"mcpServers": {\n "a" 1}}', "line 2"),
        ("cursor", ".cursor/mcp.json", b'{"mcpServers": []}', "'mcpServers' is no object"),
        ("cursor", ".cursor/mcp.json", b"\xff\xfe{}", "not UTF-8"),
        ("codex", ".codex/config.toml", b"model = \n", "line 1"),
        ("codex", ".codex/config.toml", b"mcp_servers = 3\n", "'mcp_servers' is no object"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone_and_named(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    client: str,
    name: str,
    content: bytes,
    problem: str,
) -> None:
    (home / name).parent.mkdir()
    (home / name).write_bytes(content)
    assert install(client) == 2
    complaint = capsys.readouterr().err
    assert str(home / name) in complaint
    assert problem in complaint
    assert (home / name).read_bytes() == content


@pytest.mark.parametrize(
    ("client", "text"),
    [
        (
            "cursor",
            '{"mcpServers": {"fleet-memory": {"url": "https://fleet.example/mcp", "headers": '
            '{"A": "b"}}}}',
        ),
        (
            "codex",
            "[mcp_servers.fleet-memory]\nurl = "
            '"https://fleet.example/mcp"\nbearer_token_env_var = "T"\n',
        ),
    ],
)
def test_a_remote_server_gives_way_to_one_of_this_machine_and_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str], client: str, text: str
) -> None:
    (file,) = (home / name for name in FILES[client])
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert install(client) == 0
    assert 'url: "https://fleet.example/mcp"\n' in capsys.readouterr().err
    assert "https" not in file.read_text()
    assert install(client, "--undo") == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "problem"), [(["emacs"], "CLIENT"), (["codex", "--project"], "--project")]
)
def test_an_unknown_client_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    assert install(*arguments) == 2
    assert problem in capsys.readouterr().err


def entry_of(home: Path, name: str, key: str = "mcpServers") -> dict[str, Any]:
    entry: dict[str, Any] = json.loads((home / name).read_text())[key]["fleet-memory"]
    return entry


def test_keys_that_the_owner_added_to_our_entry_stay(home: Path) -> None:
    install("cursor")
    file = home / ".cursor/mcp.json"
    own = {"env": {"FLEET_MEMORY_STORE": "/data/team.db"}, "disabled": False}
    content = json.loads(file.read_text())
    content["mcpServers"]["fleet-memory"] |= own
    file.write_text(json.dumps(content))
    install("cursor", "--program", "basher")
    entry = entry_of(home, ".cursor/mcp.json")
    assert {key: entry[key] for key in own} == own
    words = ["serve", "--program", "basher", "--toolsets", "core,session"]
    assert entry["args"][3:] == words  # the owner's variables become no flags


def test_settings_of_an_earlier_run_stay_unless_given_again(home: Path) -> None:
    install("cursor", "--program", "basher", "--fleet", "team")
    once = contents(home, "cursor")
    install("cursor")
    assert contents(home, "cursor") == once
    install("cursor", "--fleet", "other")
    args = entry_of(home, ".cursor/mcp.json")["args"]
    assert args[-6:] == ["--fleet", "other", "--program", "basher", "--toolsets", "core,session"]


def test_settings_of_the_owner_stay_in_either_spelling(home: Path) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    own = [
        "--fleet",
        "old",
        "serve",
        "--store=/data/team.db",
        "--fleet=team",
    ]
    file.write_text(
        json.dumps({"mcpServers": {"fleet-memory": {"command": "fleet-memory", "args": own}}})
    )
    for _ in range(2):
        install("cursor")
        kept = "--toolsets core,session"
        start = (
            "-P -m fleet_memory serve --store /data/team.db --fleet team "
            "--folder ${workspaceFolder}"
        )
        assert entry_of(home, ".cursor/mcp.json")["args"] == f"{start} {kept}".split()


@pytest.mark.parametrize(
    ("client", "words", "file", "key", "passes"),
    [
        ("cursor", (), ".cursor/mcp.json", "mcpServers", True),
        ("cursor", ("--project",), "proj/.cursor/mcp.json", "mcpServers", True),
        ("vscode", (), ".config/Code/User/mcp.json", "servers", False),
        ("vscode", ("--project",), "proj/.vscode/mcp.json", "servers", True),
        ("vscode", ("--project", "--program", "basher"), "proj/.vscode/mcp.json", "servers", False),
        ("gemini", (), ".gemini/settings.json", "mcpServers", False),
    ],
)
def test_the_entry_passes_the_project_s_folder_where_the_client_has_a_variable_for_it(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    words: Sequence[str],
    file: str,
    key: str,
    *,
    passes: bool,
) -> None:
    """Cursor resolves it in either file (cursor.com/docs/mcp, "Config interpolation"); Visual
    Studio Code 1.104 in the project's alone, and in the user's the server does not start
    (microsoft/vscode#264535).
    """
    (home / "proj").mkdir()
    monkeypatch.chdir(home / "proj")
    for _ in range(2):
        assert install(client, *words) == 0
        args = entry_of(home, file, key)["args"]
        assert ("--folder ${workspaceFolder}" in " ".join(args)) is passes


def test_hooks_have_the_memory_of_the_entry_s_variables(home: Path) -> None:
    variables = {
        "FLEET_MEMORY_STORE": "/data/team.db",
        "FLEET_MEMORY_PROGRAM": "basher",
        "OPENAI_API_KEY": "geheim",
    }
    entry = {"command": "fleet-memory", "args": ["serve", "--fleet", "team"], "env": variables}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"fleet-memory": entry}}))
    install("claude-code")
    args = entry_of(home, ".claude.json")["args"][4:]
    assert args == ["--fleet", "team", "--toolsets", "core,session"]
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    words = ["--store", "/data/team.db", "--fleet", "team", "--program", "basher"]
    commands = [hooks[event][0]["hooks"][0]["command"].split()[-6:] for event in EVENTS]
    assert commands == [words for _ in EVENTS]


@pytest.mark.usefixtures("home")
def test_undo_leaves_no_lesson_in_the_state_folder() -> None:
    install("claude-code")
    lesson = Moment("a1b2", "Your own lesson: keep the pump dry", "keep the pump dry", "")
    write_index(user_state().folder, "s1", {"memory": "m", "program": "basher"}, [lesson])
    moments = Path(str(user_state().folder)) / "moments"
    assert moments.is_dir()
    install("cursor")
    install("cursor", "--undo")
    install("claude-code", "--undo", "--dry-run")
    assert [file.name for file in moments.iterdir()] == ["s1.json"]
    install("claude-code", "--undo")
    assert [*moments.iterdir()] == []


def test_a_hook_of_the_owner_in_our_group_stays(home: Path) -> None:
    install("claude-code")
    file = home / ".claude/settings.json"
    put_value(file, ("hooks", "Stop", 0, "hooks", 1), {"type": "command", "command": "say"})
    install("claude-code", "--program", "basher")
    commands = [
        hook["command"] for hook in json.loads(file.read_text())["hooks"]["Stop"][0]["hooks"]
    ]
    assert [command.split()[-1] for command in commands] == ["basher", "say"]
    install("claude-code", "--undo")
    assert json.loads(file.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}
    }


class Terminal(io.StringIO):
    """A terminal at which a person types these lines; `meanwhile` happens while the first is
    awaited.
    """

    def __init__(self, lines: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__(lines)
        self.meanwhile = meanwhile

    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # typeshed gives StringIO's base bytes
        self.meanwhile()
        self.meanwhile = lambda: None
        return super().readline(size)


def test_a_file_that_changes_while_the_question_waits_is_not_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"visits": 1}')
    monkeypatch.setattr(sys, "stdin", Terminal("y\n", lambda: file.write_text('{"visits": 2}')))
    assert main(["install", "cursor"]) == 4
    assert f"{file} has changed meanwhile" in capsys.readouterr().err
    assert file.read_text() == '{"visits": 2}'


def test_a_change_of_the_client_while_ours_is_written_is_not_lost(home: Path) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"visits": 1}')
    later = ['{"visits": 2}']

    def write_once(
        event: str, arguments: tuple[object, ...]
    ) -> None:  # stays in this process, and does nothing more
        if event == "open" and later and ".cursor/." in str(arguments[0]).replace("\\", "/"):
            file.write_text(later.pop())

    sys.addaudithook(write_once)
    assert install("cursor") == 4
    assert json.loads(file.read_text()) == {"visits": 2}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders, and no such modes")
@pytest.mark.parametrize(("is_pipe", "problem"), [(True, "no regular file"), (False, "read-only")])
def test_a_pipe_or_a_file_that_nobody_may_write_is_left_alone(
    home: Path, capsys: pytest.CaptureFixture[str], *, is_pipe: bool, problem: str
) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    if is_pipe:
        os.mkfifo(file)
    else:
        file.write_text("{}")
        file.chmod(0o444)
    assert install("cursor") == 2
    assert f"{file}: {problem}" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="needs a folder in which nobody may write")
def test_when_one_file_cannot_be_written_the_other_is_as_it_was(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = put(home, "claude-code")
    (home / ".claude/settings.json").unlink()
    (home / ".claude/settings.json").symlink_to(
        "/proc/fleet-memory/settings.json"
    )  # where not even root may write
    assert install("claude-code") == 2
    assert "settings.json: cannot be written" in capsys.readouterr().err
    assert (home / ".claude.json").read_bytes() == before[home / ".claude.json"]


def test_a_link_to_a_file_that_is_not_there_yet_stays_and_its_target_goes_again(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".cursor").mkdir()
    link, target = home / ".cursor/mcp.json", home / "dotfiles/mcp.json"
    link.symlink_to(target)
    install("cursor")
    assert "fleet-memory" in target.read_text()
    install("cursor")
    install("cursor", "--undo")
    assert link.is_symlink()
    assert not target.exists()


def test_users_of_claude_code_read_how_to_allow_the_tools(
    capsys: pytest.CaptureFixture[str],
) -> None:
    allowing = "until you allow `mcp__fleet-memory`"
    for client, count in (("claude-code", 1), ("cursor", 0)):
        assert main(["install", client, "--yes"]) == 0
        assert capsys.readouterr().out.count(allowing) == count
    assert main(["install", "claude-code", "--undo", "--yes"]) == 0
    assert allowing not in capsys.readouterr().out


def test_with_the_plugin_nothing_is_installed_twice(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text(
        '{"enabledPlugins": {"fleet-memory@fleet-memory": true}}'
    )
    assert install("claude-code") == 1
    assert "the plugin fleet-memory@fleet-memory is on" in capsys.readouterr().err
    assert not (home / ".claude.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows deletes no folder that somebody is in")
@pytest.mark.parametrize(
    "command", [["install", "cursor", "--yes"], ["install", "claude-code", "--undo"], ["doctor"]]
)
def test_a_folder_that_was_deleted_is_a_usage_error(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    folder = home / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert main(command) == 2
    assert "this folder was deleted" in capsys.readouterr().err


def test_a_file_of_a_team_names_nothing_of_this_machine(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        for client in ("claude-code", "cursor", "vscode", "gemini", "opencode"):
            assert install(client, "--project", "--store", "memory/team.db") == 0
    for file in project.rglob("*.json"):
        assert str(home) not in file.read_text()
        assert sys.prefix not in file.read_text()
        assert f"fleet-memory=={__version__}" in file.read_text()
        assert "memory/team.db" in file.read_text()


def test_a_project_s_hooks_name_no_agent(capsys: pytest.CaptureFixture[str]) -> None:
    assert install("claude-code", "--project", "--agent", "basher") == 2
    assert "--agent: not with --project" in capsys.readouterr().err


def test_undo_leaves_a_file_without_us_alone(home: Path) -> None:
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text('{"hooks": {}}')
    assert install("claude-code", "--undo") == 0
    assert file.read_text() == '{"hooks": {}}'


def test_codex_changes_its_file_by_its_own_command_and_the_entry_s_variables_stay(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(home, "codex")
    assert install("codex", "--program", "basher") == 0
    file = home / ".codex/config.toml"
    file.write_text(f'{file.read_text()}\n[mcp_servers.fleet-memory.env]\nA = "b"\n')
    capsys.readouterr()
    assert install("codex", "--program", "iso") == 0
    words = f"{sys.executable} -P -m fleet_memory serve --program iso --toolsets core,session"
    asked = f"  by: codex mcp add fleet-memory --env A=b -- {words}\n"
    assert asked in capsys.readouterr().err
    server = tomllib.loads(file.read_text())["mcp_servers"]["fleet-memory"]
    assert [server["command"], *server["args"]] == words.split()
    assert server["env"] == {"A": "b"}


def test_a_command_of_codex_that_fails_or_is_not_there_is_named(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "bin/codex").write_text("#!/bin/sh\necho 'not signed in' >&2\nexit 3\n")
    assert install("codex") == 2
    assert capsys.readouterr().err.endswith("failed: not signed in\n")
    monkeypatch.setenv("PATH", "")
    assert install("codex") == 2
    assert "run it where codex is" in capsys.readouterr().err
    assert not (home / ".codex").exists()


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": [1, 2,]}', '{"a": 1e999}'])
def test_json_that_would_lose_something_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(text)
    assert install("cursor") == 2
    assert "more than our entry would change" in capsys.readouterr().err
    assert file.read_text() == text
