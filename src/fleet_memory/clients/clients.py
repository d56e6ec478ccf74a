"""The clients: where each keeps its servers, and how it writes one."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import platformdirs

from fleet_memory.errors import InvalidArgumentError

NAME: Final = "fleet-memory"
CLIENTS: Final = (
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini",
    "windsurf",
    "opencode",
)


class RemoteForm(NamedTuple):
    """How a client writes a server behind an address: the address's key, and how a header names a
    variable.

    `variable_key` is the key of the variable's name, where a client builds the header
    `Authorization` by itself.
    """

    address: str = "url"
    variable: str = "${env:NAME}"
    extra: Mapping[str, object] = {}
    variable_key: str = ""

    def entry(self, url: str, variable: str) -> dict[str, object]:
        """Return the entry of a server whose token is in an environment variable, "" for a server
        that takes none.
        """
        entry = {**self.extra, self.address: url}
        if not variable:
            return entry
        if self.variable_key:
            return {**entry, self.variable_key: variable}
        return {
            **entry,
            "headers": {"Authorization": f"Bearer {self.variable.replace('NAME', variable)}"},
        }


class Client(NamedTuple):
    """Where a client keeps its servers: a file of the user, one below a project's folder or "", and
    the key in it.

    `extra` are keys of its own for an entry. `is_listed` marks a client whose `command` is a list
    with the arguments. `add` and `remove` are the client's own commands for the user's file, where
    they keep the rest of it. `remote` is how it writes a server behind an address; None for a
    client that takes none in its file.
    """

    user: Path
    project: str
    key: str
    extra: Mapping[str, object] = {}
    is_listed: bool = False
    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    remote: RemoteForm | None = None

    @property
    def is_here(self) -> bool:
        """Whether this machine seems to have the client."""
        folder = self.user.parent
        return self.user.exists() or (folder != Path.home() and folder.exists())

    def started(self, words: Sequence[str]) -> dict[str, object]:
        """Return the entry of a server that the client starts with these words."""
        if self.is_listed:
            return {**self.extra, "command": list(words)}
        return {**self.extra, "command": words[0], "args": list(words[1:])}

    def file(self, project: Path | None) -> Path:
        """Return the file of the user or of a project's folder. Raises InvalidArgumentError without
        one.
        """
        if project and not self.project:
            raise InvalidArgumentError(
                "--project: this client has one configuration per user; leave it out"
            )
        return project / self.project if project else self.user

    def files(self, folder: Path) -> list[Path]:
        """Return the files that count in a folder: the user's, and the folder's."""
        return [self.user, *([folder / self.project] if self.project else [])]


def this_folder() -> Path:
    """Return the current folder. Raises InvalidArgumentError when it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise InvalidArgumentError(
            "this folder was deleted; go to another and try again"
        ) from error


def known_clients() -> dict[str, Client]:
    """Return every client by its name. Raises InvalidArgumentError for a user without a home."""
    try:
        home, roaming = Path.home(), platformdirs.user_config_path(roaming=True)
    except RuntimeError as error:
        raise InvalidArgumentError(
            "HOME: this user has no home directory, where clients keep their files"
        ) from error
    return _claude_clients(home, roaming) | _editors(home, roaming) | _command_line_clients(home)


def _claude_clients(home: Path, roaming: Path) -> dict[str, Client]:
    claude = os.environ.get("CLAUDE_CONFIG_DIR")
    return {
        # code.claude.com/docs/en/mcp; the running client writes this file too, so its own command
        # adds
        "claude-code": Client(
            Path(claude or home) / ".claude.json",
            ".mcp.json",
            "mcpServers",
            {"type": "stdio"},
            add=("claude", "mcp", "add-json", "--scope", "user", NAME),
            remove=("claude", "mcp", "remove", "--scope", "user", NAME),
            remote=RemoteForm(variable="${NAME}", extra={"type": "http"}),
        ),
        # modelcontextprotocol.io/quickstart/user; it skips an entry with an address
        # (anthropics/claude-ai-mcp#120)
        "claude-desktop": Client(
            roaming / "Claude" / "claude_desktop_config.json", "", "mcpServers"
        ),
    }


def _editors(home: Path, roaming: Path) -> dict[str, Client]:
    return {
        # cursor.com/docs/mcp
        "cursor": Client(
            home / ".cursor" / "mcp.json", ".cursor/mcp.json", "mcpServers", remote=RemoteForm()
        ),
        # code.visualstudio.com/docs/copilot/reference/mcp-configuration, "Variables reference"
        "vscode": Client(
            roaming / "Code" / "User" / "mcp.json",
            ".vscode/mcp.json",
            "servers",
            {"type": "stdio"},
            remote=RemoteForm(extra={"type": "http"}),
        ),
        # docs.windsurf.com/windsurf/cascade/mcp
        "windsurf": Client(
            home / ".codeium" / "windsurf" / "mcp_config.json",
            "",
            "mcpServers",
            remote=RemoteForm("serverUrl"),
        ),
    }


def _command_line_clients(home: Path) -> dict[str, Client]:
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    opencode = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    commented = opencode / "opencode.jsonc"
    opencode = commented if commented.exists() else opencode / "opencode.json"
    return {
        # developers.openai.com/codex/mcp; its own `mcp add` drops comments and the entry's other
        # keys (0.169.0)
        "codex": Client(
            codex / "config.toml",
            "",
            "mcp_servers",
            remote=RemoteForm(variable_key="bearer_token_env_var"),
        ),
        # geminicli.com, "MCP servers with the Gemini CLI"; its own `mcp add` lays the file out
        # again (0.61.0)
        "gemini": Client(
            home / ".gemini" / "settings.json",
            ".gemini/settings.json",
            "mcpServers",
            remote=RemoteForm("httpUrl", "${NAME}"),
        ),
        # opencode.ai/docs/mcp-servers
        "opencode": Client(
            opencode,
            "opencode.json",
            "mcp",
            {"type": "local"},
            is_listed=True,
            remote=RemoteForm(variable="{env:NAME}", extra={"type": "remote"}),
        ),
    }


def claude_settings(project: Path | None) -> Path:
    """Return the file with Claude Code's hooks and plugins."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return (
        project / ".claude" if project else Path(folder) if folder else Path.home() / ".claude"
    ) / "settings.json"
