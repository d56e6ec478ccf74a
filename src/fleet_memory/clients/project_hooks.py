"""Our hooks in a project's own settings: one with a program answers for every session of the
project.
"""

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

PROJECT_SETTINGS: Final = (
    "settings.json",
    "settings.local.json",
)  # in `.claude`; Source: code.claude.com/docs/en/settings


def is_ours(command: str, event: str) -> bool:
    """Whether a hook's command runs this package for an event."""
    return f" hook {event}" in command and ("fleet-memory" in command or "fleet_memory" in command)


def program_of_hooks(folder: Path, event: str) -> str | None:
    """Return the program that an event's hook in a folder's settings names by `--program`; None
    without one.
    """
    for name in PROJECT_SETTINGS:
        with suppress(OSError, ValueError, RecursionError):
            for command in _commands(
                json.loads((folder / ".claude" / name).read_text(encoding="utf-8")), event
            ):
                words = [part for word in shlex.split(command) for part in word.split("=", 1)]
                if is_ours(command, event) and "--program" in words[:-1]:
                    return words[words.index("--program") + 1]
    return None


def _commands(settings: object, event: str) -> Iterator[str]:
    groups = _items(_value(_value(settings, "hooks"), event))
    for group in groups:
        yield from (str(_value(hook, "command")) for hook in _items(_value(group, "hooks")))


def _value(of: object, key: str) -> object:
    return of.get(key) if isinstance(of, dict) else None


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []
