"""The names in the code, as far as a machine can check them: one name means one thing, limits are
MAX_ or MIN_.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import fleet_memory

PACKAGE = Path(fleet_memory.__file__).parent
ODD_LIMIT = re.compile(r"_?(MOST|LEAST|LARGEST|LONGEST)(_.*)?")

PROTOCOLS = {"ACTIONS": "each module of the command line has those of its commands"}
"""Public names that several modules define on purpose, each with its reason."""


def defined(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that the statements of a module define, those of `if` and `try` among
    them.
    """
    for node in body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name
            case ast.Assign(targets=targets):
                yield from (
                    name.id
                    for target in targets
                    for name in ast.walk(target)
                    if isinstance(name, ast.Name)
                )
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If(body=inner, orelse=other) | ast.Try(body=inner, orelse=other):
                yield from defined(inner)
                yield from defined(other)


def names_by_module(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the names that each module defines, from the modules' texts."""
    return {module: set(defined(ast.parse(source).body)) for module, source in sources.items()}


def package() -> dict[str, str]:
    return {
        str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def ambiguous(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return each public name that more than one module defines, with these modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module, names in names_by_module(sources).items():
        for name in names:
            if not name.startswith("_") and name not in PROTOCOLS:
                homes[name].append(module)
    return {name: modules for name, modules in sorted(homes.items()) if len(modules) > 1}


def odd_limits(sources: Mapping[str, str]) -> list[str]:
    """Return the constants whose names begin with another word than MAX or MIN."""
    every = names_by_module(sources).items()
    return [
        f"{module}: {name}"
        for module, names in every
        for name in sorted(names)
        if ODD_LIMIT.fullmatch(name)
    ]


def test_a_public_name_is_defined_in_one_module() -> None:
    assert ambiguous(package()) == {}, "make a name private, or say in it whose it is"


def test_a_limit_begins_with_max_or_min() -> None:
    assert odd_limits(package()) == []


def test_both_checks_detect_their_violations() -> None:
    sources = {
        "a.py": "class Report: ...\n_MOST_RACES = 3\nLEAST: Final = 1\n",
        "b.py": "if TYPE_CHECKING:\n    Report = int\nMOSTLY = MAX_RACES = 3\n",
        "c.py": "ACTIONS = {}\nasync def _shown(): ...\n",
        "d.py": "ACTIONS = {}\ndef _shown(): ...\n",
    }
    assert ambiguous(sources) == {"Report": ["a.py", "b.py"]}
    assert odd_limits(sources) == ["a.py: LEAST", "a.py: _MOST_RACES"]


def test_every_exception_is_still_needed() -> None:
    every = [name for names in names_by_module(package()).values() for name in names]
    assert [name for name in PROTOCOLS if every.count(name) < 2] == []
