"""The picture of the strata in docs/architecture.md shows the imports of the package."""

import ast
import re
from collections.abc import Iterator, Set
from itertools import pairwise
from pathlib import Path

import fleet_memory

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
PACKAGE = Path(fleet_memory.__file__).parent
GROUND = {
    "extensions",
    "errors",
    "settings",
    "clock",
    "whole_files",
    "moment",
    "__version__",
}
ONE_BOX = {"demo": "cli", "clients": "cli", "__main__": "cli"}

Arrow = tuple[str, str]


def arrows(page: str) -> set[Arrow]:
    """Return the arrows of the page's flowchart, e.g. "a --> b --> c" as (a, b) and (b, c)."""
    (picture,) = re.findall(r"flowchart TB\n(.+?)```", page, re.DOTALL)
    chains = [
        re.split(r"\s*-->\s*", line.strip()) for line in picture.splitlines() if "-->" in line
    ]
    return {arrow for chain in chains for arrow in pairwise(chain)}


def imports() -> Iterator[Arrow]:
    """Yield each import between two boxes of the picture."""
    for path in PACKAGE.rglob("*.py"):
        importer = box(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in modules_of(node):
                imported = box(name.split(".")[1])
                if imported not in {importer, *GROUND}:
                    yield importer, imported


def modules_of(node: ast.AST) -> list[str]:
    """Return the modules of the package that an import names, e.g. "fleet_memory.jobs.check"."""
    named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        named = [node.module]
    return [name for name in named if name.startswith("fleet_memory.")]


def box(name: str) -> str:
    return ONE_BOX.get(name, name)


def below(name: str, drawn: Set[Arrow]) -> set[str]:
    """Return the boxes that arrows lead to from this one."""
    direct = {end for start, end in drawn if start == name}
    return direct.union(*(below(each, drawn) for each in direct))


def running_up(drawn: Set[Arrow], imported: Set[Arrow]) -> set[Arrow]:
    return {(start, end) for start, end in imported if end not in below(start, drawn)}


def test_every_arrow_of_the_picture_is_an_import() -> None:
    drawn = arrows(PAGE.read_text(encoding="utf-8"))
    assert len(drawn) > 10
    assert drawn - set(imports()) == set()


def test_every_import_follows_the_arrows() -> None:
    up = running_up(arrows(PAGE.read_text(encoding="utf-8")), set(imports()))
    assert up == set()


def test_an_import_against_the_arrows_is_seen() -> None:
    drawn = arrows("flowchart TB\n  cli --> jobs --> rules\n```")
    assert drawn == {("cli", "jobs"), ("jobs", "rules")}
    assert running_up(drawn, {("cli", "rules"), ("rules", "jobs")}) == {("rules", "jobs")}
