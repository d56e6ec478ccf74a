"""The clients: where each keeps its servers, how it writes one, and the words that start one."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final, NamedTuple

import platformdirs

from fleet_memory import __version__
from fleet_memory.errors import InvalidArgumentError

NAME: Final = "fleet-memory"  # of the server among a client's, and of the command
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
WORKSPACE: Final = "${workspaceFolder}"
PINNED: Final = f"{NAME}=={__version__}"
# Folders that `uvx` and `pipx run` build and throw away. Sources: uv's cache buckets, pipx's
# PIPX_VENV_CACHEDIR
_THROWN_AWAY: Final = re.compile(
    r"/(archive|builds|environments)-v\d+/|/\.cache/pipx/|/pipx/(\.cache|Cache)/", re.I
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
    with the arguments. `remote` is how it writes a server behind an address; None for a client
    that takes none in its file. `folder` is how the user's file and a project's name the project's
    folder, "" where they do not.
    """

    user: Path
    project: str
    key: str
    extra: Mapping[str, object] = {}
    is_listed: bool = False
    remote: RemoteForm | None = None
    folder: tuple[str, str] = ("", "")

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
    opencode = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    commented = opencode / "opencode.jsonc"
    return {
        # code.claude.com/docs/en/mcp
        "claude-code": Client(
            Path(os.environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json",
            ".mcp.json",
            "mcpServers",
            {"type": "stdio"},
            remote=RemoteForm(variable="${NAME}", extra={"type": "http"}),
        ),
        # modelcontextprotocol.io/quickstart/user; it skips an entry with an address
        # (anthropics/claude-ai-mcp#120)
        "claude-desktop": Client(
            roaming / "Claude" / "claude_desktop_config.json", "", "mcpServers"
        ),
        # cursor.com/docs/mcp, "Config interpolation"
        "cursor": Client(
            home / ".cursor" / "mcp.json",
            ".cursor/mcp.json",
            "mcpServers",
            remote=RemoteForm(),
            folder=(WORKSPACE, WORKSPACE),
        ),
        # code.visualstudio.com/docs/copilot/reference/mcp-configuration, "Variables reference"; in
        # the user's file the folder's variable keeps the server from starting (microsoft/vscode
        # #264535), but it answers for its roots
        "vscode": Client(
            roaming / "Code" / "User" / "mcp.json",
            ".vscode/mcp.json",
            "servers",
            {"type": "stdio"},
            remote=RemoteForm(extra={"type": "http"}),
            folder=("", WORKSPACE),
        ),
        # developers.openai.com/codex/mcp
        "codex": Client(
            Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml",
            "",
            "mcp_servers",
            remote=RemoteForm(variable_key="bearer_token_env_var"),
        ),
        # geminicli.com, "MCP servers with the Gemini CLI"
        "gemini": Client(
            home / ".gemini" / "settings.json",
            ".gemini/settings.json",
            "mcpServers",
            remote=RemoteForm("httpUrl", "${NAME}"),
        ),
        # docs.windsurf.com/windsurf/cascade/mcp
        "windsurf": Client(
            home / ".codeium" / "windsurf" / "mcp_config.json",
            "",
            "mcpServers",
            remote=RemoteForm("serverUrl"),
        ),
        # opencode.ai/docs/mcp-servers
        "opencode": Client(
            commented if commented.exists() else opencode / "opencode.json",
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


class Installation(NamedTuple):
    """Where this package runs from, and how names are found on the path. `script` is the file that
    was called.
    """

    script: PurePath
    python: str
    prefix: PurePath
    is_virtual: bool
    find: Callable[[str], str | None]

    @property
    def is_temporary(self) -> bool:
        """Whether `uvx` or `pipx run` made it for one use."""
        return _THROWN_AWAY.search(f"{self.prefix.as_posix()}/") is not None

    def words(self, *, shared: bool) -> list[str]:
        """Return the command; one that is `shared` names nothing of this machine."""
        if shared:
            path = None if self.is_temporary else self.find(NAME)
            everywhere = path and not (
                self.is_virtual and PurePath(path).is_relative_to(self.prefix)
            )
            return [NAME] if everywhere else ["uvx", PINNED]
        if self.is_temporary:
            return [self.find("uvx") or "uvx", PINNED]
        script = self.find(str(self.script)) if self.script.stem == NAME else None
        return [script] if script else [self.python, "-P", "-m", "fleet_memory"]


def this_installation() -> Installation:
    """Return the installation that runs."""
    script = Path(sys.argv[0]).absolute()
    return Installation(
        script, sys.executable, Path(sys.prefix), sys.prefix != sys.base_prefix, shutil.which
    )


def shell_command(words: Sequence[str], *, windows: bool) -> str:
    """Return words as a shell's command line; on Windows for Git Bash, with `/` in paths."""
    return shlex.join(word.replace("\\", "/") if windows else word for word in words)
