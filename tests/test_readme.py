"""What the README and its neighbours say exists does exist. `.ci/run` runs their commands."""

import json
import re
from pathlib import Path

import pytest

from fleet_memory import __version__
from fleet_memory.cli import main
from fleet_memory.server.toolsets import TOOLS
from fleet_memory.settings import JUDGE_KEY_VARIABLE, KEY_VARIABLE, SETTINGS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(title: str) -> list[str]:
    rows = re.findall(r"^\| (`.+?) \|", section(title), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


@pytest.mark.skipif(not (ROOT / "src").exists(), reason="the package is installed, its source is not here")
def test_every_place_on_the_map_exists() -> None:
    package = ROOT / "src" / "fleet_memory"
    places = first_cells("The map")
    assert len(places) > 10
    assert [name for name in places if not (ROOT / name).exists() and not (package / name).exists()] == []


def test_the_map_and_the_commands_are_on_the_first_screen() -> None:
    assert README.index("python3 run.py test") < README.index("## The map") < 1_500


def test_the_tools_are_the_tools_of_the_server() -> None:
    assert set(first_cells("The tools")) == {spec.function.__name__ for spec in TOOLS["core"]}
    others = {spec.function.__name__ for toolset, specs in TOOLS.items() if toolset != "core" for spec in specs}
    assert set(first_cells("Further toolsets")) == others


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_shown_exists(page: Path) -> None:
    code = "\n".join(re.findall(r"```(?:sh|console)\n.+?```|`[^`\n]+`", page.read_text(encoding="utf-8"), re.DOTALL))
    for command in sorted(set(re.findall(r"fleet-memory ([a-z][a-z-]*)", code))):
        with pytest.raises(SystemExit) as left:
            main([command, "--help"])
        assert left.value.code == 0, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_variable_named_is_a_setting(page: Path) -> None:
    named = set(re.findall(r"FLEET_MEMORY_[A-Z_]+", page.read_text(encoding="utf-8").replace("FLEET_MEMORY_*", "")))
    assert named - {setting.variable for setting in SETTINGS} - {KEY_VARIABLE, JUDGE_KEY_VARIABLE} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_client_snippet_starts_the_server() -> None:
    snippets = [json.loads(block) for block in re.findall(r"```json\n(.+?)```", README, re.DOTALL)]
    servers = [next(iter(snippet.values()))["fleet-memory"] for snippet in snippets]
    assert [server["args"] for server in servers] == [["serve"]]
    assert {server["command"] for server in servers} == {"/path/to/fleet-memory/.venv/bin/fleet-memory"}


def test_the_registry_entry_is_of_this_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    assert {entry["version"], *(package["version"] for package in entry["packages"])} == {__version__}
    assert f"mcp-name: {entry['name']}" in README
    assert len(entry["description"]) <= 100
