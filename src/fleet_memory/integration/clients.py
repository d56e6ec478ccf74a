"""The configuration files of each client, and our entries in them."""

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import platformdirs

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.integration import jsonc, toml
from fleet_memory.integration.hooks import EVENTS

NAME: Final = "fleet-memory"
CLIENTS: Final = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")
HOOK_TIMEOUT_S: Final = 10  # the hook itself gives up after five
# Hook events of Claude Code, and our matcher for each; "" for all
HOOKS: Final[Mapping[str, str]] = dict.fromkeys(EVENTS, "")


class FileEdit(NamedTuple):
    """The edits of one file: `put` adds our part to its text, `take` removes it; both return the text."""

    file: Path
    put: Callable[[str], str]
    take: Callable[[str], str]


FileEdits: TypeAlias = Sequence[FileEdit]


class Server(NamedTuple):
    """How the server is started: the program with its first arguments, and the settings for it."""

    command: Sequence[str]
    flags: Sequence[str]

    @property
    def entry(self) -> dict[str, object]:
        """The server's entry in a client's configuration."""
        return {"command": self.command[0], "args": [*self.command[1:], "serve", *self.flags]}

    def hook(self, event: str) -> str:
        """Return the shell command of a hook; hooks offer no tools."""
        words = [*self.command, "hook", event, *_without_toolsets(self.flags)]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def edits(client: str, server: Server, *, project: Path | None) -> FileEdits:
    """Return the edits of a client's files, in a project's folder or the user's. Raises InvalidArgumentError."""
    if project is not None and client in ("claude-desktop", "codex"):
        raise InvalidArgumentError(f"--project: {client} has one configuration per user; leave it out")
    home = Path.home()
    match client:
        case "claude-code":
            return _claude_code(server, project)
        case "claude-desktop":
            return [_json(_user_config() / "Claude" / "claude_desktop_config.json", "mcpServers", server.entry)]
        case "cursor":
            return [_json((project or home) / ".cursor" / "mcp.json", "mcpServers", server.entry)]
        case "vscode":
            file = project / ".vscode" / "mcp.json" if project else _user_config() / "Code" / "User" / "mcp.json"
            return [_json(file, "servers", {"type": "stdio", **server.entry})]
        case _:
            folder = Path(os.environ.get("CODEX_HOME") or home / ".codex")
            path = ("mcp_servers", NAME)
            put = partial(toml.with_table, path=path, table=server.entry)
            return [FileEdit(folder / "config.toml", put, partial(toml.without_table, path=path))]


def _claude_code(server: Server, project: Path | None) -> FileEdits:
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(configured) if configured else Path.home() / ".claude"
    servers = Path(configured) / ".claude.json" if configured else Path.home() / ".claude.json"
    if project:
        folder, servers = project / ".claude", project / ".mcp.json"
    entry = {"type": "stdio", **server.entry}
    return [
        _json(servers, "mcpServers", entry),
        FileEdit(folder / "settings.json", partial(_hooked, server), _unhooked),
    ]


def _json(file: Path, key: str, entry: Mapping[str, object]) -> FileEdit:
    def put(text: str) -> str:
        return jsonc.with_member(text, (key, NAME), dict(entry))

    def take(text: str) -> str:
        return jsonc.without(text, (key,), lambda name, _: name == NAME)

    return FileEdit(file, put, take)


def _hooked(server: Server, text: str) -> str:
    for event, matcher in HOOKS.items():
        command = {"type": "command", "command": server.hook(event), "timeout": HOOK_TIMEOUT_S}
        group = ({"matcher": matcher} if matcher else {}) | {"hooks": [command]}
        present = jsonc.value_at(text, ("hooks", event))
        if not (isinstance(present, list) and group in present):
            text = jsonc.without(text, ("hooks", event), _is_ours)  # one of another version or with other settings
            text = jsonc.with_element(text, ("hooks", event), group)
    return text


def _unhooked(text: str) -> str:
    for event in HOOKS:
        text = jsonc.without(text, ("hooks", event), _is_ours)
    return jsonc.without(text, ("hooks",), lambda event, groups: event in HOOKS and groups == [])


def _is_ours(_: str, group: object) -> bool:
    """Whether a group of hooks runs `fleet-memory hook` and nothing else."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [str(hook.get("command")) for hook in hooks or () if isinstance(hook, dict)]
    return bool(commands) and all(
        " hook " in command and ("fleet-memory" in command or "fleet_memory" in command) for command in commands
    )


def _without_toolsets(flags: Sequence[str]) -> list[str]:
    kept = list(flags)
    if "--toolsets" in kept:
        at = kept.index("--toolsets")
        del kept[at : at + 2]
    return kept


def _user_config() -> Path:
    return platformdirs.user_config_path(roaming=True)
