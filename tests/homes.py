"""A home of its own for a test of clients' files, laid out the same on every system."""

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
