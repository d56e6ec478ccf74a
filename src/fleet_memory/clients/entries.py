"""Our entry among a client's servers, and our hooks among Claude Code's.

A change is a function of the file's object, for `files.planned`. Keys and hooks of the owner stay;
taking out takes out what has our name.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.clients.clients import NAME, Client, claude_settings
from fleet_memory.clients.files import Change, Config, inner_object, read_config, value_at
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.moment import TOOL_EVENTS
from fleet_memory.settings import SETTINGS

# Events of Claude Code, those of a tool for `HOOKED_TOOLS`, each other for all of its matchers.
# Source: code.claude.com/docs/en/hooks
HOOKED_TOOLS: Final = "Bash|PowerShell|Edit|Write|NotebookEdit"
EVENTS: Final = (
    "SessionStart",
    "SubagentStart",
    "UserPromptSubmit",
    *TOOL_EVENTS,
    "PreCompact",
    "Stop",
    "SessionEnd",
)
HOOK_TIMEOUT_S: Final = 10  # the hook itself gives up after nine
PROJECT_SETTINGS: Final = ("settings.json", "settings.local.json")  # in `.claude`
_OF_MEMORY: Final = ("store", "fleet", "program", "embedder", "embedder_url")
_REMOTE: Final = frozenset(
    {"url", "httpUrl", "serverUrl"}
)  # the address in an entry: of most, of Gemini, of Windsurf


def put_server(client: Client, entry: Mapping[str, object]) -> Change:
    """Return the change that sets an entry's keys; other keys of the owner stay, unless a process
    takes the place of an address, or an address that of a process. The change raises
    InvalidArgumentError.
    """

    def put(document: Config) -> None:
        servers = inner_object(document, client.key)
        there = servers.get(NAME)
        is_alike = isinstance(there, dict) and _is_remote(there) == _is_remote(entry)
        servers[NAME] = {**(there if isinstance(there, dict) and is_alike else {}), **entry}

    return put


def cut_server(client: Client) -> Change:
    """Return the change that takes the entry out, and the object around it where nothing is left
    in it.
    """

    def cut(document: Config) -> None:
        servers = document.get(client.key)
        if isinstance(servers, dict) and NAME in servers:
            del servers[NAME]
            if not servers:
                del document[client.key]

    return cut


def put_hooks(commands: Mapping[str, str]) -> Change:
    """Return the change that sets the command of each event's hook; a second one of ours goes."""

    def put(document: Config) -> None:
        hooks = inner_object(document, "hooks")
        for event, command in commands.items():
            groups = hooks.setdefault(event, [])
            if not isinstance(groups, list):
                raise InvalidArgumentError(f"{event!r} is no list; nothing was changed")
            ours = [*_ours(groups, event)]
            for hook in ours[:1]:
                hook["command"] = command
            if not ours:
                hook = {"type": "command", "command": command, "timeout": HOOK_TIMEOUT_S}
                group = {"matcher": HOOKED_TOOLS} if event in TOOL_EVENTS else {}
                groups.append({**group, "hooks": [hook]})
            _cut(hooks, event, ours[1:])

    return put


def cut_hooks(document: Config) -> None:
    """Take out each hook of ours, and each group, event and object that has nothing else then."""
    hooks = document.get("hooks")
    if isinstance(hooks, dict) and any(our_hooks(document, event) for event in hooks):
        for event in [*hooks]:
            _cut(hooks, event, [*_ours(hooks[event], event)])
        if not hooks:
            del document["hooks"]


def our_hooks(document: Config, event: str) -> list[str]:
    """Return the commands of an event's hooks that run this package."""
    return [str(hook["command"]) for hook in _ours(value_at(document, "hooks", event), event)]


def settings_here(folder: Path) -> list[Path]:
    """Return the files that Claude Code reads its hooks from in a folder; in the home folder two of
    them are one.
    """
    of_project = [folder / ".claude" / name for name in PROJECT_SETTINGS]
    return list(dict.fromkeys(file.resolve() for file in [claude_settings(None), *of_project]))


def plugin_here(folder: Path) -> str | None:
    """Return the name of our plugin if it is on for the user or in this folder, e.g.
    "fleet-memory@fleet-memory".
    """
    for file in settings_here(folder):
        enabled = read_config(file).get("enabledPlugins")
        for name, is_on in enabled.items() if isinstance(enabled, dict) else ():
            if is_on and str(name).startswith(f"{NAME}@"):
                return str(name)
    return None


class StartedServer(NamedTuple):
    """How a client starts the server: command and arguments, none for a remote one, and variables
    for it.

    `url` is a remote one's address.
    """

    words: Sequence[str]
    variables: Mapping[str, str]
    url: str = ""

    def flag(self, flag: str) -> str | None:
        """Return the value of a flag in the words, e.g. "basher" of "--program basher" and
        "--program=basher".
        """
        joined = (word.partition("=") for word in self.words)
        return (
            dict(pairwise(self.words)) | {name: value for name, sign, value in joined if sign}
        ).get(flag)

    def setting(self, flag: str) -> str | None:
        """Return the setting of a flag: the flag's value, else the variable's."""
        variable = f"FLEET_MEMORY_{flag.removeprefix('--').replace('-', '_').upper()}"
        return self.flag(flag) or self.variables.get(variable) or None

    @property
    def program(self) -> str | None:
        """The program that it is bound to."""
        return self.setting("--program")


def unset_settings(server: StartedServer) -> str:
    """Return the variables of this shell that name another memory than the server's entry, e.g.
    "FLEET_MEMORY_STORE", "" for none: a client does not start from this shell.
    """
    return " and ".join(
        setting.variable
        for setting in SETTINGS
        if setting.name in _OF_MEMORY and os.environ.get(setting.variable, "").strip()
        if server.words and not server.setting(setting.flag)
    )


def server_in(client: Client, file: Path) -> StartedServer | None:
    """Return how a client's file starts the server, None where it does not. Raises
    InvalidArgumentError.
    """
    entry = value_at(read_config(file), client.key, NAME)
    if not isinstance(entry, dict):
        return None
    if _is_remote(entry):
        url = next(str(entry[key]) for key in sorted(_REMOTE) if key in entry)
        return StartedServer([], {}, url)
    command = entry.get("command")
    words = command if isinstance(command, list) else [command, *_items(entry.get("args"))]
    variables = entry.get("environment", entry.get("env"))
    return StartedServer(
        [str(word) for word in words],
        {str(name): str(value) for name, value in variables.items()}
        if isinstance(variables, dict)
        else {},
    )


def _is_remote(entry: Mapping[str, object]) -> bool:
    return "command" not in entry and not _REMOTE.isdisjoint(entry)


def _ours(groups: object, event: str) -> Iterator[dict[str, object]]:
    """Yield the hooks of an event's groups that run this package."""
    for group in _items(groups):
        for hook in _items(value_at(group, "hooks")):
            command = str(value_at(hook, "command"))
            is_ours = "fleet-memory" in command or "fleet_memory" in command
            if isinstance(hook, dict) and is_ours and f" hook {event}" in command:
                yield hook


def _cut(hooks: Config, event: str, cut: Sequence[object]) -> None:
    """Take these hooks out of an event, and each group and the event that are empty then."""
    left = list[object]()
    for group in _items(hooks[event]):
        inner = _items(value_at(group, "hooks"))
        remaining = [hook for hook in inner if not any(hook is each for each in cut)]
        if isinstance(group, dict) and len(remaining) < len(inner):
            group["hooks"] = remaining
        if remaining or not inner:
            left.append(group)
    if cut:
        hooks[event] = left
        if not left:
            del hooks[event]


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []
