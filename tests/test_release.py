"""Published files agree with each other: one version, links that an index can follow, actions
pinned by hash.
"""

import ast
import json
import re
import runpy
import shutil
import tomllib
from collections.abc import Iterator
from datetime import date
from email.message import Message
from importlib.metadata import distribution
from itertools import chain, pairwise
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import fleet_memory
from fleet_memory import __version__

ROOT = Path(__file__).parent.parent
PACKAGE = Path(fleet_memory.__file__).parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
REPOSITORY = "https://github.com/fleet-memory/fleet-memory"
WHOLE = re.compile(r"https?://\S+")
PAGE = re.compile(
    r"\b(?:docs|scripts|benchmarks|tests)/[\w./-]+|\b(?:README|CHANGELOG|CONTRIBUTING|RELEASING|SECURITY)\.md\b"
    r"|\bfirestore\.(?:rules|indexes\.json)"
)

INSTALLED = distribution("fleet-memory")
IS_EDITABLE = (
    json.loads(INSTALLED.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable")
)
needs_wheel = pytest.mark.skipif(
    IS_EDITABLE, reason="an editable install: what it says of itself may be old"
)


def read(path: str, root: Path = ROOT) -> str:
    return (root / path).read_text(encoding="utf-8")


def versions(root: Path) -> set[str]:
    """Return the versions that the files name; one if all is well."""
    entry, plugin = (
        json.loads(read("server.json", root)),
        json.loads(read("plugin/.claude-plugin/plugin.json", root)),
    )
    (own,) = re.findall(
        r'^__version__ = "(.+)"$', read("src/fleet_memory/__init__.py", root), re.MULTILINE
    )
    return {
        own,
        entry["version"],
        plugin["version"],
        *(package["version"] for package in entry["packages"]),
    }


def test_every_file_that_others_read_is_of_this_version() -> None:
    entry, plugin = (
        json.loads(read("server.json")),
        json.loads(read("plugin/.claude-plugin/plugin.json")),
    )
    assert {
        entry["version"],
        plugin["version"],
        *(package["version"] for package in entry["packages"]),
    } == {__version__}
    assert (
        "version" not in json.loads(read(".claude-plugin/marketplace.json"))["plugins"][0]
    )  # it has the plugin's
    assert tomllib.loads(read("pyproject.toml"))["project"]["dynamic"] == ["readme", "version"]
    assert "image.version=$VERSION" in read("Dockerfile")


def test_a_release_changes_the_version_everywhere_and_dates_its_changes(tmp_path: Path) -> None:
    for name in (
        "src/fleet_memory/__init__.py",
        "server.json",
        "plugin/.claude-plugin/plugin.json",
        "CHANGELOG.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("src"):
            (tmp_path / name).write_text(f'"""Doc."""\n\n__version__ = "{__version__}"\n')
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    release = runpy.run_path(str(ROOT / "scripts" / "release.py"))["release"]
    release(tmp_path, "99.1.0", date(2031, 2, 3))
    assert versions(tmp_path) == {"99.1.0"}
    assert "## [Unreleased]\n\n## [99.1.0] - 2031-02-03\n" in read("CHANGELOG.md", tmp_path)
    with pytest.raises(ValueError, match="no version"):
        release(tmp_path, "1.0", date(2031, 2, 3))
    with pytest.raises(ValueError, match=r"has a date for 99\.1\.0 already"):
        release(tmp_path, "99.1.0", date(2031, 2, 4))


def test_the_changelog_has_unreleased_changes_on_top_and_a_date_for_every_version() -> None:
    first, *headings = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)
    assert first == "[Unreleased]"
    dated = [
        re.fullmatch(r"\[(\d+\.\d+\.\d+\w*)\] - (\d{4}-\d\d-\d\d)", heading) for heading in headings
    ]
    assert None not in dated
    parts = [(Version(part[1]), date.fromisoformat(part[2])) for part in dated if part]
    assert all(newer > older and day >= before for (newer, day), (older, before) in pairwise(parts))
    assert parts[0][0] == Version(__version__)


@needs_wheel
def test_the_installed_metadata_names_authors_licences_and_addresses() -> None:
    metadata = INSTALLED.metadata
    assert isinstance(metadata, Message)
    assert metadata["License-Expression"] == "MIT AND Apache-2.0 AND 0BSD"
    assert metadata["Author"] in read("LICENSE")
    addresses = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert addresses.keys() == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(address.startswith(REPOSITORY) for address in addresses.values())


@needs_wheel
def test_the_wheel_has_the_package_and_its_licences_and_nothing_else() -> None:
    files = [Path(str(file)) for file in INSTALLED.files or ()]
    assert {file.parts[0] for file in files if ".." not in file.parts} <= {
        "fleet_memory",
        f"fleet_memory-{__version__}.dist-info",
    }
    kinds = {
        file.suffix or file.name
        for file in files
        if file.parts[0] == "fleet_memory" and file.suffix != ".pyc"
    }
    assert kinds == {
        ".py",
        ".LICENSE",
        ".json",
        ".jsonl",
        ".toml",
        ".md",  # texts for agents
        ".txt",
        ".onnx",
        ".html",  # the window's templates, their style, and htmx
        ".css",
        ".js",
        ".typed",
        "LICENSE",
        "NOTICE",
        "SHA256SUMS",
    }
    licences = [file for file in files if "licenses" in file.parts]
    assert len(licences) == 5


def test_no_message_sends_its_reader_to_a_file_that_the_wheel_lacks() -> None:
    found = [
        f"{path.name}: {text}"
        for path in PACKAGE.rglob("*.py")
        for text in messages(path)
        if PAGE.search(text)
    ]
    assert found == []


def messages(path: Path) -> Iterator[str]:
    """Yield the texts in a module that are no docstrings, without the addresses in them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield WHOLE.sub("", node.value)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit_and_names_its_version(path: Path) -> None:
    uses = re.findall(r"uses: (?!\./)(.+)", path.read_text(encoding="utf-8"))
    assert uses
    loose = [
        line
        for line in uses
        if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+.*", line)
    ]
    assert loose == []


X86, ARM = {"platform_machine": "x86_64"}, {"platform_machine": "aarch64"}
LINUX, MAC, WINDOWS = (
    {"sys_platform": "linux"},
    {"sys_platform": "darwin"},
    {"sys_platform": "win32"},
)


def test_every_dependency_has_its_line_and_every_line_its_dependency() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    extras = project["project"]["optional-dependencies"]
    lines = {
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *chain(*extras.values()),
    }
    names = {Requirement(line).name for line in lines} - {"fleet-memory"}  # `dev` has its extras
    rows = re.findall(r"^\| `([\w-]+)` \|", read("docs/dependencies.md"), re.MULTILINE)
    assert sorted(names - set(rows)) == [], "without a line in docs/dependencies.md"
    assert sorted(rows) == sorted(names), "lines of docs/dependencies.md and of pyproject.toml"
