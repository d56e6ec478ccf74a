"""Measure the size of the code and hold it to its ceilings: `python scripts/measure_size.py`.

A line of code is a line of a Python file, formatted at 100 columns, that is not blank, not only a
comment, and part of neither a docstring nor an import. Tokens are the lexical tokens of these lines.
The ceilings stand in pyproject.toml, `[tool.fleet-memory.size]`; a figure above one exits with 1.
"""

import ast
import io
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fleet_memory"
TESTS = ("tests", "emulator-tests")
PARTS = ("tools/work", "tools/journal")
"""Toolsets with rules and documents of their own, measured beside the folder that they lie in."""
SMALL_LINES = 40
"""A module below this many lines of code is a closet: what a reader takes in at one sitting has 150 to 500."""
IGNORED = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT})


class Size(NamedTuple):
    """Lines and tokens of code, modules (an empty `__init__` is none), modules under 40 lines."""

    lines: int = 0
    tokens: int = 0
    modules: int = 0
    small: int = 0

    def __add__(self, other: object) -> "Size":
        """Return the sizes of two places as one."""
        if not isinstance(other, Size):
            return NotImplemented
        return Size(*(a + b for a, b in zip(self, other, strict=True)))


def not_code(tree: ast.AST) -> Iterator[int]:
    """Yield the numbers of the lines that are docstrings or imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
            case ast.Expr(value=ast.Constant(value=str())):  # a docstring, also below a constant
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def measured(source: str, *, is_init: bool = False) -> Size:
    r"""Return the size of one module, e.g. `measured("import os\nx = 1\n") == Size(1, 3, 1, 1)`."""
    if "fmt: off" in source or "fmt: skip" in source:
        raise ValueError("lines that the formatter leaves alone cannot be counted")
    ignored = set(not_code(ast.parse(source)))
    code: set[int] = set()
    tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in IGNORED or token.type in (tokenize.COMMENT, tokenize.ENDMARKER):
            continue
        if token.start[0] in ignored:
            continue
        tokens += 1
        code.update(range(token.start[0], token.end[0] + 1))
    lines = source.splitlines()
    count = sum(1 for number in code if lines[number - 1].strip())
    if is_init and not count:
        return Size()
    return Size(count, tokens, 1, int(count < SMALL_LINES and not is_init))


def size_of(folder: Path, without: Iterable[Path] = ()) -> Size:
    """Return the size of all Python files below a folder, or of one file, less those below some folders."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
    total = Size()
    for path in files:
        if any(path.is_relative_to(other) for other in without):
            continue
        try:
            total += measured(path.read_text(encoding="utf-8"), is_init=path.name == "__init__.py")
        except ValueError as error:
            sys.exit(f"{path.relative_to(ROOT)}: {error}")
    return total


def folders(package: Path) -> dict[str, Size]:
    """Return the size of each folder of the package; "top" are the modules beside them."""
    parts = {part: package / part for part in PARTS if (package / part).is_dir()}
    inside = [path for path in sorted(package.iterdir()) if path.is_dir()]
    sizes = {path.name: size_of(path, parts.values()) for path in inside}
    sizes |= {part: size_of(path) for part, path in parts.items()}
    top = Size()
    for path in sorted(package.glob("*.py")):
        top += size_of(path)
    return {name: size for name, size in sizes.items() if size != Size()} | {"top": top}


def data_bytes(package: Path) -> int:
    """Return the bytes of data and templates in the package; the model's weights are not text."""
    return sum(
        path.stat().st_size
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"} and path.parent.name != "model"
    )


def doc_words(docs: Path) -> int:
    """Return the words of all pages, as `wc -w` counts them."""
    return sum(len(path.read_text(encoding="utf-8").split()) for path in docs.rglob("*.md"))


def figures() -> dict[str, int]:
    """Return each figure by the name that its ceiling has."""
    by_folder = folders(PACKAGE)
    total = sum(by_folder.values(), Size())
    named = {
        "lines": total.lines,
        "tokens": total.tokens,
        "modules": total.modules,
        "small-modules": total.small,
        "data-bytes": data_bytes(PACKAGE),
        "docs-words": doc_words(ROOT / "docs"),
    }
    named |= {f"{name}-lines": size_of(ROOT / name).lines for name in TESTS}
    return named | {f"folders.{name}": size.lines for name, size in by_folder.items()}


def ceilings() -> dict[str, int]:
    """Return the ceilings of pyproject.toml, e.g. {"lines": 23500, "folders.cli": 2048}."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    plain = dict(tables["fleet-memory"]["size"])
    by_folder = plain.pop("folders", {})
    return plain | {f"folders.{name}": number for name, number in by_folder.items()}


def main() -> None:
    """Print each figure beside its ceiling; exit with 1 where one is above it."""
    limits, failed = ceilings(), False
    print(f"{'folder':14}{'lines':>8}{'tokens':>9}{'modules':>9}{'< 40':>6}")
    for name, size in folders(PACKAGE).items():
        print(f"{name:14}{size.lines:8,}{size.tokens:9,}{size.modules:9,}{size.small:6,}")
    print()
    for name, figure in figures().items():
        limit = limits.get(name)
        verdict = "" if limit is None or figure <= limit else "ABOVE"
        failed = failed or bool(verdict)
        print(f"{name:24}{figure:10,} of {limit or figure:10,} {verdict}".rstrip())
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
