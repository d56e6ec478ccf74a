"""A home of its own for a test of clients' files, laid out the same on every system."""

import json
from pathlib import Path

import platformdirs
import pytest

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
