"""Who may import whom: the strata of docs/architecture.md as a table, held against every import of
the package.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from graphlib import TopologicalSorter
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fleet_memory

PACKAGE = Path(fleet_memory.__file__).parent  # the installed one: the wheel is tested without src/
STDLIB = sys.stdlib_module_names


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Decisions take values and return values: the rest of the standard library is refused in `rules/`.
PURE_STDLIB = names(
    "__future__ array base64 bisect collections dataclasses datetime difflib functools hashlib "
    "hmac itertools json "
    "math re statistics types typing unicodedata"
)
# Names that read a clock, the environment or a file, draw at random, talk to a terminal, or hide
# one of these.
IMPURE_NAMES = names("__builtins__ __import__ breakpoint compile eval exec input open print")
IMPURE_ATTRIBUTES = names(
    "datetime64 default_rng environ file_digest fromfile genfromtxt getenv load loadtxt memmap "
    "monotonic perf_counter "
    "random read_bytes read_text save savetxt savez time_ns tofile urandom uuid1 uuid4 "
    "write_bytes write_text"
)
CLOCKS = names(
    "now today utcnow"
)  # of `datetime` and `date`; a field called `now` is a value that was passed in


class Layer(NamedTuple):
    """`own` are modules of this package, each with all below it; `others` are distributions;
    `never` wins over both.

    `stdlib` are the modules of the standard library that are allowed, None for all.
    """

    own: frozenset[str]
    others: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    stdlib: frozenset[str] | None = None


def layer(
    own: str = "", others: str = "", never: str = "", stdlib: frozenset[str] | None = None
) -> Layer:
    package = frozenset(f"fleet_memory.{name}" for name in names(own))
    refused = frozenset(f"fleet_memory.{name}" for name in names(never))
    return Layer(package | {"fleet_memory.__version__"}, names(others), refused, stdlib)


STORE_ENGINES = {
    "sqlite": "",
    "firestore": "google grpc",
}  # the packages of stores/, each with its libraries
ENGINES = (
    "similarity.judge_model similarity.lexical similarity.minilm "
    f"similarity.openai {' '.join(f'stores.{engine}' for engine in STORE_ENGINES)}"
)
BELOW_JOBS = "schemas rules similarity stores repositories fleet errors"

# The longest name that a module starts with decides which row is its.
LAYERS = {
    "": layer(),
    "moment": layer(),
    "errors": layer(),
    "clock": layer(),
    "extensions": layer(),
    "whole_files": layer(),
    "settings": layer("settings errors extensions", "platformdirs"),
    "schemas": layer("schemas errors", "pydantic pydantic_core"),
    "rules": layer("moment schemas rules", "numpy", stdlib=PURE_STDLIB),
    "rules.text.credentials": layer("", "re2"),  # its rules are files of the package
    "similarity": layer("schemas rules.text similarity errors", "anyio numpy"),
    "similarity.minilm": layer(
        "schemas rules.text similarity errors", "anyio numpy onnxruntime tokenizers"
    ),
    "similarity.judge_model": layer("schemas similarity errors", "httpx2 pydantic"),
    "similarity.openai": layer(
        "schemas rules.text similarity errors", "anyio httpx2 numpy pydantic"
    ),
    "stores": layer("stores errors", "anyio", ENGINES),
    **{
        f"stores.{engine}": layer(
            "stores errors clock",
            f"anyio {libraries}",
            " ".join(f"stores.{e}" for e in STORE_ENGINES if e != engine),
        )
        for engine, libraries in STORE_ENGINES.items()
    },
    "repositories": layer("schemas rules stores repositories errors", "anyio", ENGINES),
    "fleet": layer("schemas rules stores similarity repositories errors", "pydantic", ENGINES),
    "jobs": layer(f"{BELOW_JOBS} jobs moment whole_files", "anyio numpy pydantic", ENGINES),
    "importing": layer(f"{BELOW_JOBS} jobs importing extensions", "", ENGINES),
    "tools": layer(
        f"{BELOW_JOBS} jobs tools moment", "anyio numpy pydantic pydantic_core", ENGINES
    ),
    "window": layer(
        f"{BELOW_JOBS} jobs tools window", "anyio jinja2 markupsafe starlette uvicorn", ENGINES
    ),
    "server": layer(
        f"{BELOW_JOBS} jobs tools server settings extensions clock",
        "anyio mcp pydantic pydantic_core",
        f"server.http {ENGINES}",
    ),
    "server.http": layer(
        f"{BELOW_JOBS} jobs tools window server settings extensions clock",
        "anyio httpx2 jwt mcp pydantic starlette uvicorn",
        ENGINES,
    ),
    "server.observing": layer(
        f"{BELOW_JOBS} server settings",
        "anyio mcp prometheus_client pydantic",
        ENGINES,
    ),
    "server.composition": layer(f"{BELOW_JOBS} server.engines settings extensions clock", "anyio"),
    "server.engines": layer("stores errors clock similarity schemas rules.text", "anyio", ENGINES),
    "server.std_streams": layer(),  # it runs before anything that might print
    "clients": layer(
        "clients server.composition tools jobs rules.retrieval rules.text "
        "schemas.patterns schemas.programs "
        "fleet settings clock extensions whole_files moment errors",
        "anyio mcp platformdirs",
    ),
    "clients.service": layer("clients rules.retrieval settings errors clock", "anyio httpx2 mcp"),
    "demo": layer("demo extensions settings schemas tools server fleet errors", "anyio pydantic"),
    "cli": layer(
        f"{BELOW_JOBS} jobs importing tools window server clients demo settings "
        "extensions clock whole_files cli",
        "anyio",
        ENGINES,
    ),
    "__main__": layer("cli moment"),
}

# One line per row that the row must refuse, and the mutations that once passed unseen.
VIOLATIONS = {
    "": ["import fleet_memory.errors"],
    "errors": ["from fleet_memory.schemas.value import Value"],
    "clock": ["from fleet_memory.settings import load"],
    "extensions": ["from fleet_memory import errors"],
    "whole_files": ["from fleet_memory import errors"],
    "moment": ["from fleet_memory.rules.text import tokens", "import platformdirs"],
    "settings": ["import pydantic"],
    "schemas": ["from fleet_memory.rules.lifecycle import decay"],
    "rules": [
        "import time",
        "import logging",
        "import tempfile",
        "import urllib.request",
        "import uuid",
        "from datetime import datetime\nNOW = datetime.now()",
        "from datetime import datetime\nCLOCK = datetime.now",
        "from datetime import date\nTODAY = date.today()",
        "TEXT = open('/etc/hostname').read()",
        "print('a word')",
        "ANSWER = input()",
        "import numpy as np\nDICE = np.random.default_rng()",
        "import numpy as np\nDICE = np.random.rand()",
        "from fleet_memory.rules.text.vectors import np\nDICE = np.random.rand()",
        "from numpy.random import default_rng",
        "from numpy import random",
        "import numpy as np\nTABLE = np.load('table.npy')",
        "import numpy as np\nNOW = np.datetime64('now')",
        "import datetime\nCLOCK = datetime.datetime.now",
        "from datetime import datetime as d\nCLOCK = d.now",
        "async def decide(): ...",
        "from fleet_memory.tools.core.lessons import StoreAnswer",
        "from fleet_memory.clock import clock",
    ],
    "rules.text.credentials": ["from fleet_memory.errors import InvalidArgumentError"],
    "similarity": ["def vectors():\n    import onnxruntime"],
    "similarity.minilm": ["from fleet_memory.stores import Store"],
    "similarity.judge_model": ["import openai"],
    "similarity.openai": ["import openai"],
    "stores": [
        "from fleet_memory.stores.sqlite import SqliteStore",
        "from fleet_memory.rules.text import keys",
    ],
    **{
        f"stores.{engine}": [
            *(f"from fleet_memory.stores.{e} import Store" for e in STORE_ENGINES if e != engine),
            "from mcp import Client",
            "from fleet_memory.jobs.publishing import leased",
        ]
        for engine in STORE_ENGINES
    },
    "repositories": [
        "from fleet_memory.stores.sqlite import SqliteStore",
        "from fleet_memory.jobs import maintenance",
    ],
    "fleet": ["from fleet_memory.tools.core.lessons import store_memory"],
    "jobs": [
        "from fleet_memory.tools.core.lessons import store_memory",
        "from fleet_memory.settings import Settings",
    ],
    "importing": ["from fleet_memory import tools"],
    "tools": ["from mcp.types import Tool"],
    "window": ["from fleet_memory.server.composition import with_fleet"],
    "server": ["import fleet_memory.cli", "from fleet_memory.stores.sqlite import SqliteStore"],
    "server.http": [
        "from fleet_memory.stores.sqlite import SqliteStore",
        "from fleet_memory.cli import printing",
    ],
    "server.observing": [
        "from fleet_memory.stores.sqlite import SqliteStore",
        "from fleet_memory.jobs import deletion",
    ],
    "server.composition": ["from fleet_memory.tools.core.lessons import store_memory"],
    "server.engines": ["from fleet_memory.similarity.minilm import MiniLM"],
    "server.std_streams": ["import mcp"],
    "clients": ["from fleet_memory.repositories.programs import Programs"],
    "clients.service": ["from fleet_memory.fleet import Fleet"],
    "demo": ["from fleet_memory.repositories.programs import Programs"],
    "cli": ["from fleet_memory.stores.sqlite import SqliteStore"],
    "__main__": ["from fleet_memory import settings"],
}


def row_of(module: str) -> str:
    return max(
        (name for name in LAYERS if module == name or module.startswith(f"{name}.") or not name),
        key=len,
    )


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def impure(tree: ast.AST) -> Iterator[str]:
    """Yield each effect in a rule: asynchronous functions, and names that reach outside, whether
    called or not.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield "async"
        elif isinstance(node, ast.Name) and node.id in IMPURE_NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES:
            yield ast.unparse(node)


def clocks(tree: ast.AST) -> Iterator[str]:
    """Yield `now` and the like of `datetime` and `date`, under any imported name, called or not."""
    dates = {"datetime", "date"} | {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "datetime"
        for alias in node.names
    }
    read = (
        node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in CLOCKS
    )
    yield from (
        ast.unparse(node) for node in read if ast.unparse(node.value).rpartition(".")[2] in dates
    )


def below(name: str, parents: frozenset[str]) -> bool:
    return any(name == parent or name.startswith(f"{parent}.") for parent in parents)


def is_allowed(name: str, allowed: Layer) -> bool:
    top = name.partition(".")[0]
    if below(name, allowed.never) or name.startswith("numpy.random"):
        return False
    if top == "fleet_memory":
        return below(name, allowed.own)
    if top in STDLIB:
        return allowed.stdlib is None or top in allowed.stdlib
    return top in allowed.others


def breaches(module: str, source: str) -> list[str]:
    tree, row = ast.parse(source), row_of(module)
    effects = [*(impure(tree) if row == "rules" else ()), *(clocks(tree) if row != "clock" else ())]
    refused = [name for name in imported(tree) if not is_allowed(name, LAYERS[row])]
    return [f"{module or 'fleet_memory'} imports {name}" for name in refused] + [
        f"{module} uses {e}" for e in effects
    ]


def modules() -> dict[str, Path]:
    paths = {
        path: path.relative_to(PACKAGE).with_suffix("") for path in sorted(PACKAGE.rglob("*.py"))
    }
    return {
        ".".join(parts.parts).removesuffix("__init__").rstrip("."): path
        for path, parts in paths.items()
    }


@pytest.mark.parametrize("row", LAYERS)
def test_a_layer_imports_only_modules_that_its_row_allows(row: str) -> None:
    mine = {module: path for module, path in modules().items() if row_of(module) == row}
    assert [
        breach for module, path in mine.items() for breach in breaches(module, path.read_text())
    ] == []


@pytest.mark.parametrize(
    ("row", "line"), [(row, line) for row, lines in VIOLATIONS.items() for line in lines]
)
def test_a_breach_of_each_row_is_seen(row: str, line: str) -> None:
    assert breaches(row, line)


def test_every_row_has_its_breach() -> None:
    assert LAYERS.keys() == VIOLATIONS.keys()


def test_every_row_is_of_a_module_that_exists() -> None:
    assert LAYERS.keys() - modules().keys() == set()


def test_every_engine_of_the_store_has_a_row() -> None:
    assert {
        file.parent.name for file in PACKAGE.glob("stores/*/__init__.py")
    } == STORE_ENGINES.keys()


def declared() -> set[str]:
    """Return the distributions that pyproject.toml names for users, and those that they bring, by
    normal names.
    """
    project = tomllib.loads(
        (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    extras = {
        name: lines
        for name, lines in project["optional-dependencies"].items()
        if name not in {"dev", "docs"}
    }
    waiting, known = [*project["dependencies"], *chain(*extras.values())], set[str]()
    while waiting:
        wanted = Requirement(waiting.pop())
        if "extra ==" not in str(wanted.marker) and canonicalize_name(wanted.name) not in known:
            known.add(canonicalize_name(wanted.name))
            with suppress(metadata.PackageNotFoundError):  # e.g. onnxruntime where it has no wheel
                waiting += metadata.requires(wanted.name) or []
    return known


def undeclared(libraries: frozenset[str]) -> list[str]:
    known, installed = declared(), metadata.packages_distributions()
    return sorted(
        name
        for name in libraries
        if not known & set(map(canonicalize_name, installed.get(name, [name])))
    )


def test_every_library_of_a_row_is_declared() -> None:
    libraries = frozenset[str]().union(*(row.others for row in LAYERS.values()))
    assert undeclared(libraries) == [], "add it to the dependencies or an extra in pyproject.toml"


def test_a_library_that_nothing_brings_is_seen() -> None:
    assert undeclared(names("numpy jwt google pytest psycopg2")) == ["psycopg2", "pytest"]


def test_every_module_has_a_row_of_its_own_layer() -> None:
    layers = {module.partition(".")[0] for module in modules()}
    assert layers - {name.partition(".")[0] for name in LAYERS} == set()


def spelt_paths(source: str) -> list[str]:
    """Return the strings of a module, f-strings included, that spell where a fleet's documents
    are.
    """
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [text for text in texts if isinstance(text, str) and "fleets/" in text]


def test_document_paths_are_spelt_in_one_module() -> None:
    spelling = {module for module, path in modules().items() if spelt_paths(path.read_text())}
    assert spelling == {"repositories.paths"}


def test_a_path_that_is_spelt_elsewhere_is_seen() -> None:
    assert spelt_paths('base = f"fleets/{document_id(fleet)}"') == ["fleets/"]


def reached(module: str, source: str, known: frozenset[str]) -> set[str]:
    """Return the modules that importing a module imports, with the packages that they are in."""
    found = set[str]()
    for name in imported(ast.parse(source)):
        parts = name.removeprefix("fleet_memory").lstrip(".").split(".")
        found |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    own = {module[:end] for end, char in enumerate(module) if char == "."}
    return (found & known) - own - {module}


def test_modules_import_each_other_in_no_circle() -> None:
    sources = {module: path.read_text() for module, path in modules().items()}
    known = frozenset(sources)
    graph = {module: reached(module, text, known) for module, text in sources.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
