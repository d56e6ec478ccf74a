"""Who may import whom: DESIGN section 1 as a table, held against every import of the package."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "fleet_memory"
STDLIB = sys.stdlib_module_names
# What has no place among decisions: values in, values out.
EFFECTS = {
    "asyncio",
    "io",
    "os",
    "pathlib",
    "random",
    "secrets",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "time",
}


class Layer(NamedTuple):
    """`own` are modules of this package, each with all below it; `others` are distributions; `never` wins over both."""

    own: frozenset[str]
    others: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


def layer(own: str = "", others: str = "", never: set[str] | frozenset[str] = frozenset()) -> Layer:
    return Layer(frozenset(own.split()), frozenset(others.split()), frozenset(never))


ENGINES = {
    "fleet_memory.similarity.choice",
    "fleet_memory.similarity.lexical",
    "fleet_memory.similarity.onnx",
    "fleet_memory.similarity.openai",
    "fleet_memory.stores.firestore",
    "fleet_memory.stores.sqlite",
}

# The longest name that a module starts with decides which row is its.
LAYERS = {
    "": layer(),
    "errors": layer(),
    "locations": layer(),
    "settings": layer("errors locations", "platformdirs"),
    "schemas": layer("schemas", "pydantic pydantic_core"),
    "rules": layer("schemas rules", "numpy", EFFECTS),
    "similarity": layer("schemas similarity errors", "anyio numpy"),
    "similarity.onnx": layer("schemas similarity errors", "anyio numpy onnxruntime tokenizers"),
    "similarity.openai": layer("schemas similarity errors", "anyio httpx2 numpy"),
    "stores": layer("schemas rules stores errors", "anyio", ENGINES),
    "stores.sqlite": layer("schemas rules stores errors", "anyio", {"fleet_memory.stores.firestore"}),
    "stores.firestore": layer("schemas rules stores errors", "anyio google grpc", {"fleet_memory.stores.sqlite"}),
    "tools": layer("schemas rules similarity stores errors tools", "anyio numpy pydantic", ENGINES),
    "server": layer(
        "schemas rules similarity stores errors tools locations settings server", "anyio mcp pydantic pydantic_core"
    ),
    "server.wire": layer(),  # it runs before anything that might print
    "demo": layer("errors settings schemas server demo", "anyio mcp rich"),
    "install": layer("install errors", "json5 platformdirs tomlkit"),
    "cli": layer("server locations settings errors demo install cli", "anyio rich"),
    "__main__": layer("cli"),
}

# One line per row that the row must refuse.
VIOLATIONS = {
    "": "import fleet_memory.errors",
    "errors": "from fleet_memory.schemas.value import Value",
    "locations": "from fleet_memory import errors",
    "settings": "import pydantic",
    "schemas": "from fleet_memory.rules import decay",
    "rules": "import time",
    "similarity": "def vectors():\n    import onnxruntime",
    "similarity.onnx": "from fleet_memory.stores import Store",
    "similarity.openai": "import openai",
    "stores": "from fleet_memory.stores.sqlite import SqliteStore",
    "stores.sqlite": "from google.cloud import firestore",
    "stores.firestore": "from mcp import Client",
    "tools": "from mcp.types import Tool",
    "server": "import fleet_memory.cli",
    "server.wire": "import mcp",
    "demo": "from fleet_memory.stores.programs import Programs",
    "install": "from fleet_memory.settings import load",
    "cli": "from fleet_memory.tools.store_memory import store_memory",
    "__main__": "from fleet_memory import settings",
}


def row_of(module: str) -> str:
    return max((name for name in LAYERS if module == name or module.startswith(f"{name}.") or not name), key=len)


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def below(name: str, parents: frozenset[str]) -> bool:
    return any(name == parent or name.startswith(f"{parent}.") for parent in parents)


def breaches(module: str, source: str) -> list[str]:
    allowed = LAYERS[row_of(module)]
    own = frozenset(f"fleet_memory.{name}" for name in allowed.own) | {"fleet_memory.__version__"}
    found = []
    for name in imported(source):
        top = name.partition(".")[0]
        known = below(name, own) if top == "fleet_memory" else top in STDLIB or top in allowed.others
        if not known or below(name, allowed.never):
            found.append(f"{module or 'fleet_memory'} imports {name}")
    return found


def modules() -> dict[str, Path]:
    paths = {path: path.relative_to(PACKAGE).with_suffix("") for path in sorted(PACKAGE.rglob("*.py"))}
    return {".".join(parts.parts).removesuffix("__init__").rstrip("."): path for path, parts in paths.items()}


@pytest.mark.parametrize("row", LAYERS)
def test_a_layer_imports_only_what_its_row_allows(row: str) -> None:
    mine = {module: path for module, path in modules().items() if row_of(module) == row}
    assert [breach for module, path in mine.items() for breach in breaches(module, path.read_text())] == []


@pytest.mark.parametrize("row", LAYERS)
def test_a_breach_of_each_row_is_seen(row: str) -> None:
    assert breaches(row, VIOLATIONS[row])


def test_every_row_has_its_breach() -> None:
    assert LAYERS.keys() == VIOLATIONS.keys()


def test_every_module_has_a_row_of_its_own_layer() -> None:
    layers = {module.partition(".")[0] for module in modules()}
    assert layers - {name.partition(".")[0] for name in LAYERS} == set()
