"""Our hooks and our plugin in Claude Code's settings. Source: code.claude.com/docs/en/hooks,
settings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleet_memory.clients import jsonc
from fleet_memory.clients.changes import naming, read_text
from fleet_memory.clients.clients import NAME, claude_settings
from fleet_memory.clients.hooks import EVENTS
from fleet_memory.clients.parts import Before, value_at
from fleet_memory.clients.project_hooks import is_ours

HOOK_TIMEOUT_S: Final = 10  # the hook itself gives up after nine


@dataclass(frozen=True)
class ClaudeHooks:
    """One command for each hook event; a `Part`. Hooks of the owner stay, also in one group with
    ours.
    """

    commands: Mapping[str, str]
    project: Path | None
    add: Sequence[str] = ()
    remove: Sequence[str] = ()

    @property
    def file(self) -> Path:
        """The settings of the user or of the project."""
        return claude_settings(self.project)

    def put(self, text: str) -> str:
        """Set the command of each event's hook; a second one of ours goes."""
        for event, command in self.commands.items():
            places = our_hooks(text, event)
            for place in reversed(places[1:]):
                text = _without_hook(text, event, place)
            if places:
                group, hook = places[0]
                text = jsonc.put(text, ("hooks", event, group, "hooks", hook, "command"), command)
            else:
                text = _with_hook(text, event, command)
        return text

    def is_in(self, text: str) -> bool:
        """Whether any event has a hook of ours."""
        return any(our_hooks(text, event) for event in _events(text))

    def before(self, text: str) -> Before:
        """Return whether there were hooks."""
        return Before(int("hooks" in jsonc.read_object(text)))

    def taken_out(self, text: str, before: Before) -> str:
        """Cut each hook of ours, and each group, event and object that has nothing else."""
        for event in _events(text):
            for place in reversed(our_hooks(text, event)):
                text = _without_hook(text, event, place)
        is_empty = before.keys < 1 and jsonc.read_object(text).get("hooks") == {}
        return jsonc.cut(text, ("hooks",)) if is_empty else text


def our_hooks(text: str, event: str) -> list[tuple[int, int]]:
    """Return the hooks of an event that run this package: the position of the group, and the
    position in it.
    """
    return [
        (i, j)
        for i, group in enumerate(_groups(text, event))
        for j, hook in enumerate(_hooks(group))
        if isinstance(hook, dict) and is_ours(str(hook.get("command")), event)
    ]


def _enabled_plugin(file: Path) -> str | None:
    with naming(file):
        enabled = jsonc.read_object(read_text(file)).get("enabledPlugins")
    plugins = enabled.items() if isinstance(enabled, dict) else ()
    return next(
        (str(name) for name, is_on in plugins if is_on and str(name).startswith(f"{NAME}@")), None
    )


def plugin_here(folder: Path) -> str | None:
    """Return the name of our plugin if it is on for the user or in this folder, e.g.
    "fleet-memory@fleet-memory".
    """
    return next(filter(None, (_enabled_plugin(file) for file in settings_here(folder))), None)


def settings_here(folder: Path) -> list[Path]:
    """Return the files that Claude Code reads its hooks from in a folder; in the home folder two of
    them are one.
    """
    of_project = claude_settings(folder)
    files = [claude_settings(None), of_project, of_project.with_name("settings.local.json")]
    return list(dict.fromkeys(file.resolve() for file in files))


def _events(text: str) -> list[str]:
    """Return the events of this version and of the text: another version may have had others."""
    events = jsonc.read_object(text).get("hooks")
    return [*dict.fromkeys([*EVENTS, *(events if isinstance(events, dict) else ())])]


def _groups(text: str, event: str) -> list[object]:
    groups = value_at(jsonc.read_object(text), ("hooks", event))
    return groups if isinstance(groups, list) else []


def _hooks(group: object) -> list[object]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _with_hook(text: str, event: str, command: str) -> str:
    group = {"hooks": [{"type": "command", "command": command, "timeout": HOOK_TIMEOUT_S}]}
    if value_at(jsonc.read_object(text), ("hooks", event)) is None:
        return jsonc.put(text, ("hooks", event), [group])
    return jsonc.put(text, ("hooks", event, len(_groups(text, event))), group)


def _without_hook(text: str, event: str, place: tuple[int, int]) -> str:
    group, hook = place
    text = jsonc.cut(text, ("hooks", event, group, "hooks", hook))
    groups = _groups(text, event)
    if _hooks(groups[group]):
        return text
    return jsonc.cut(text, ("hooks", event) if len(groups) == 1 else ("hooks", event, group))
