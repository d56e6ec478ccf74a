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

MEANINGLESS = frozenset({"one", "found", "kept", "done", "said", "told", "held"})
PARTNERS = frozenset({"other", "many"})
"""A parameter or target `one` has a meaning where one of these is bound with it: two equals,
singular and plural.
"""

PROTOCOLS = {
    "add_arguments": "each command of the command line has one",
    "run": "each command of the command line has one",
}
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


def stored(*targets: ast.expr) -> set[str]:
    """Return the names that some targets bind, e.g. {"a", "b"} for `a, b`; items and attributes
    bind none.
    """
    parts = [part for target in targets for part in ast.walk(target)]
    return {
        part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def bound_together(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    """Yield the line and the names of each list of parameters, and of each target of an assignment,
    loop or match.

    The fields of classes are left out, as they may be names on the wire.
    """
    fields = {
        id(field)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for field in node.body
    }
    for node in ast.walk(tree):
        match node:
            case ast.arguments():
                parameters = [part for part in ast.walk(node) if isinstance(part, ast.arg)]
                yield (
                    min((part.lineno for part in parameters), default=0),
                    {part.arg for part in parameters},
                )
            case ast.match_case(pattern=pattern):
                yield (
                    pattern.lineno,
                    {
                        part.name or ""
                        for part in ast.walk(pattern)
                        if isinstance(part, ast.MatchAs)
                    },
                )
            case ast.Assign(targets=[first, *others]) if id(node) not in fields:
                yield first.lineno, stored(first, *others)
            case (
                ast.For(target=target)
                | ast.AsyncFor(target=target)
                | ast.comprehension(target=target)
                | ast.NamedExpr(target=target)
                | ast.AnnAssign(target=target)
                | ast.withitem(optional_vars=ast.expr() as target)
            ) if id(node) not in fields:
                yield target.lineno, stored(target)


def meaningless(sources: Mapping[str, str]) -> list[str]:
    """Return the parameters and local names that could name anything, e.g. "a.py:3: found"."""
    return [
        f"{module}:{line}: {name}"
        for module, source in sources.items()
        for line, names in bound_together(ast.parse(source))
        for name in sorted(names & MEANINGLESS)
        if not (name == "one" and names & PARTNERS)
    ]


def test_a_public_name_is_defined_in_one_module() -> None:
    assert ambiguous(package()) == {}, "make a name private, or say in it whose it is"


def test_a_limit_begins_with_max_or_min() -> None:
    assert odd_limits(package()) == []


def test_local_names_name_the_thing() -> None:
    assert meaningless(package()) == [], "name the thing, e.g. `lesson` or `entry`"


def test_meaningless_names_are_detected_at_each_binding() -> None:
    sources = {
        "a.py": "def f(one, *, said): ...\nasync def g():\n    kept, (done, x) = h()\n    "
        "return [one for one in x]\n",
        "b.py": "if held := 1: 0\nwith f() as told: 0\nmatch x:\n    case [1, one]: 0\n    "
        "case C() as found: 0\n",
        "c.py": "class A:\n    kept: int\n    done = 0\n    def f(self):\n        self.kept = "
        "self.x[0] = 1\n",
        "d.py": "def f(one, other): ...\ndef g(one, many): ...\nfor one, other in x: ...\n",
    }
    assert meaningless(sources) == [
        "a.py:1: one",
        "a.py:1: said",
        "a.py:3: done",
        "a.py:3: kept",
        "a.py:4: one",
        "b.py:1: held",
        "b.py:2: told",
        "b.py:4: one",
        "b.py:5: found",
    ]


def test_both_checks_detect_their_violations() -> None:
    sources = {
        "a.py": "class Report: ...\n_MOST_RACES = 3\nLEAST: Final = 1\n",
        "b.py": "if TYPE_CHECKING:\n    Report = int\nMOSTLY = MAX_RACES = 3\n",
        "c.py": "def run(): ...\nasync def _shown(): ...\n",
        "d.py": "def run(): ...\ndef _shown(): ...\n",
    }
    assert ambiguous(sources) == {"Report": ["a.py", "b.py"]}
    assert odd_limits(sources) == ["a.py: LEAST", "a.py: _MOST_RACES"]


def test_every_exception_is_still_needed() -> None:
    every = [name for names in names_by_module(package()).values() for name in names]
    assert [name for name in PROTOCOLS if every.count(name) < 2] == []
