"""The README is short, and names settings, figures and files that exist."""

import json
import re
from pathlib import Path

import pytest

from fleet_memory import __version__
from fleet_memory.clients.service import TOKEN_VARIABLE
from fleet_memory.settings import JUDGE_KEY_VARIABLE, KEY_VARIABLE, SETTINGS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / name
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")
]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


MAX_README_LINES = 170  # the rest is a link away
SCREENS = 75  # lines: three screens of 25
MAX_SCREEN_WORDS = 700
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def places_on_the_map() -> list[str]:
    section = CONTRIBUTING.partition("\n## The map\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


@pytest.mark.skipif(
    not (ROOT / "src").exists(), reason="the package is installed, its source is not here"
)
def test_every_place_on_the_map_exists() -> None:
    package = ROOT / "src" / "fleet_memory"
    places = places_on_the_map()
    assert len(places) > 10
    assert [
        name for name in places if not (ROOT / name).exists() and not (package / name).exists()
    ] == []


def test_the_readme_is_short_and_starts_with_the_window_and_the_installation() -> None:
    shown = [line for line in README.splitlines() if not line.startswith("<!-- ")]
    first_screen = "\n".join(shown[:30])
    assert "](docs/window-reading.png)" in first_screen
    assert "\nuv tool install .\n" in first_screen
    assert "\nclaude mcp add " in first_screen
    assert len(shown) <= MAX_README_LINES
    assert len(" ".join(shown[:SCREENS]).split()) <= MAX_SCREEN_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_variable_named_is_a_setting(page: Path) -> None:
    named = set(
        re.findall(
            r"FLEET_MEMORY_[A-Z_]+", page.read_text(encoding="utf-8").replace("FLEET_MEMORY_*", "")
        )
    )
    others = {
        KEY_VARIABLE,
        JUDGE_KEY_VARIABLE,
        TOKEN_VARIABLE,
        "FLEET_MEMORY_HISTORIES",
    }  # the last one is of the tests
    assert named - {setting.variable for setting in SETTINGS} - others == set()


def test_the_registry_entry_is_of_this_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    assert {entry["version"], *(package["version"] for package in entry["packages"])} == {
        __version__
    }
    assert f"mcp-name: {entry['name']}" in README
    assert len(entry["description"]) <= 100


def test_the_registry_entry_starts_the_server_as_the_plugin_does() -> None:
    (package,) = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))["packages"]
    plugin = json.loads((ROOT / "plugin" / ".mcp.json").read_text(encoding="utf-8"))
    words = [
        each[part]
        for each in package["packageArguments"]
        for part in ("name", "value")
        if part in each
    ]
    assert words == plugin["mcpServers"]["fleet-memory"]["args"]
