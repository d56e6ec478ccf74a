"""A change of a configuration file in one line for each value that goes or comes.

The two sides are compared, and not our intention: a value that is lost for any reason has its line.
"""

import json
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Final

from fleet_memory.clients import jsonc, toml
from fleet_memory.clients.changes import FileChange

_OF_COMMAND: Final = frozenset(
    {"type", "command", "args", "timeout"}
)  # an entry of these is shown by its words


def summary(change: FileChange) -> str:
    """Return the file's name, then each value that goes ("-") or comes ("+") and each comment that
    goes.

    E.g. `+ hooks.Stop.hooks: fleet-memory hook Stop`.
    """
    texts = [(side or b"").decode("utf-8-sig") for side in (change.before, change.after)]
    is_toml = change.file.suffix == ".toml"
    before, after = map(toml.read_document if is_toml else jsonc.read_object, texts)
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    old, new = (
        Counter(leaf for key in changed for leaf in _leaves(key, side.get(key)))
        for side in (before, after)
    )
    gone, come = [*(old - new).elements()], [*(new - old).elements()]
    lines = [
        f"  {sign} {path}: {_brief(value)}"
        for place in dict.fromkeys(path for path, _ in [*gone, *come])
        for sign, leaves in (("-", gone), ("+", come))
        for path, value in leaves
        if path == place
    ]
    owned, left = (
        Counter(toml.comments_of_toml(text) if is_toml else jsonc.comments_of_json(text))
        for text in texts
    )
    lines += [f"  - {comment}" for comment in (owned - left).elements()]
    made = " (new)" if change.before is None else " (deleted)" if change.after is None else ""
    return "\n".join([f"{change.file}{made}", *(lines or ["  only its layout changes"])])


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield paths and values as JSON, e.g. {"a": {"b": 1}} -> ("a.b", "1"); a command or a plain
    list is one value.
    """
    if isinstance(value, dict) and not ("command" in value and value.keys() <= _OF_COMMAND):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _leaves(path, item)
    elif value not in (None, []):
        yield path, json.dumps(value, ensure_ascii=False, default=str)  # TOML has dates


def _brief(value: str) -> str:
    """Return a value for a person: a command as its words, e.g. `fleet-memory serve`; any other as
    JSON.
    """
    entry = json.loads(value)
    command, arguments = (
        (entry.get("command"), entry.get("args")) if isinstance(entry, dict) else (None, None)
    )
    if isinstance(command, str) and isinstance(arguments, list):
        return shlex.join([command, *map(str, arguments)])
    return (
        command if isinstance(command, str) and arguments is None else value
    )  # a hook's is a line of a shell
