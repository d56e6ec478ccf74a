"""A home of its own for a test of clients' files, laid out the same on every system."""

import json
import sys
from pathlib import Path

import platformdirs
import pytest

from tests import forked

VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)


def use_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder the home, with no client of this machine on the path."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("PATH", str(home / "bin"))
    for kind, folder in {
        "config": ".config",
        "data": ".local/share",
        "state": ".local/state",
    }.items():
        place = home / folder

        def path(name: str = "", _place: Path = place, **_: object) -> Path:
            return _place / name

        monkeypatch.setattr(platformdirs, f"user_{kind}_path", path)


def use_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the entries of clients start a command that is forked; return the command."""
    if sys.platform == "win32":
        return sys.executable
    command = str(forked.command(folder))
    monkeypatch.setattr(sys, "argv", [command])
    return command


def put_value(file: Path, path: tuple[str | int, ...], value: object) -> None:
    """Set a value in a file of JSON, as its owner might."""
    document = json.loads(file.read_text(encoding="utf-8"))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, list):
        inner.append(value)
    else:
        inner[path[-1]] = value
    file.write_text(json.dumps(document), encoding="utf-8")


CODEX = """\
import pathlib, sys
head = "[mcp_servers.fleet-memory]"
file, words = pathlib.Path.home() / ".codex" / "config.toml", sys.argv[2:]
before, _, _ = (file.read_text() if file.exists() else "").partition(head)
table, options = "", dict(zip(words[2::2], words[3::2], strict=False))
if words[0] == "add" and "--url" in options:
    table = f"url = {options['--url']!r}\\n"
    if variable := options.get("--bearer-token-env-var"):
        table += f"bearer_token_env_var = {variable!r}\\n"
elif words[0] == "add":
    start = words[words.index("--") + 1 :]
    table = f"command = {start[0]!r}\\nargs = {start[1:]}\\n"
    if words[2] == "--env":
        name, _, value = words[3].partition("=")
        table += f"[mcp_servers.fleet-memory.env]\\n{name} = {value!r}\\n"
text = f"{before}{head}\\n{table}" if table else before
file.parent.mkdir(exist_ok=True)
file.write_text(text)
if not text:
    file.unlink()
"""


def put_codex(home: Path) -> None:
    """Put a command `codex` on the path of a home that knows `mcp add` and `mcp remove`."""
    script = home / "bin" / "codex"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\n{CODEX}", encoding="utf-8")
    script.chmod(0o755)
