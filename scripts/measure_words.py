"""Counts words that our prose should avoid, and examples, per 1,000 words: `python
scripts/measure_words.py`.

Prose is docstrings, comments and titles of tests in Python files, and all text outside code blocks
in Markdown files. It prints a line of figures per folder, and exits with 1 when one is outside its
limits. `--list FIGURE` prints each place of a figure, e.g. `--list odd --folder tests`.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDERS: Final = ("src", "tests", "emulator-tests", "benchmarks", "scripts", "docs")
GENERATED: Final = ("docs/tools",)  # from docstrings, which are counted where they stand

PATTERNS: Final[Mapping[str, re.Pattern[str]]] = {
    "what": re.compile(r"\b(what|whatever|whoever|of which)\b", re.IGNORECASE),
    "say": re.compile(r"\b(say|says|said|saying)\b", re.IGNORECASE),
    "told": re.compile(r"\b(tell|tells|told|telling)\b", re.IGNORECASE),
    "odd": re.compile(r"\b(merely|anew|beside|nobody)\b", re.IGNORECASE),
    "example": re.compile(
        r"\be\.g\.|\bfor example\b|\bexamples?:|>>>|^\s+\S.* (==|->) ", re.IGNORECASE | re.MULTILINE
    ),
}
"""The figures, by name; a docstring's `call(…) == result` and `input -> output` lines are examples
too.
"""

LIMITS: Final[Mapping[str, float]] = {
    "what": 2.0,
    "say": 1.0,
    "told": 0.6,
    "odd": 1.0,
}  # below these, per 1,000 words
MIN_EXAMPLES: Final = 1.0  # per 1,000 words of the package; Source: docs/decisions/words.md


class Prose(NamedTuple):
    """One docstring or comment, and where it begins."""

    place: str
    text: str


class Measured(NamedTuple):
    """The words of some prose, and how often each figure occurs in it."""

    words: int
    counts: Mapping[str, int]

    def ratio(self, figure: str) -> float:
        """Return how often a figure occurs per 1,000 words, e.g. 3 times in 1,500 words: 2.0."""
        return 1000 * self.counts[figure] / self.words if self.words else 0.0

    @property
    def over(self) -> list[str]:
        """The figures at or above their limits."""
        return [figure for figure, limit in LIMITS.items() if self.ratio(figure) >= limit]


def python_prose(source: str, name: str) -> Iterator[Prose]:
    """Yield the docstrings of a module, its attribute docstrings among them, its titles of tests
    and its comments.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text)), lineno=line):
                yield Prose(f"{name}:{line}", text)
            case (
                ast.FunctionDef(name=title, lineno=line)
                | ast.AsyncFunctionDef(name=title, lineno=line)
            ):
                if title.startswith("test_"):
                    yield Prose(f"{name}:{line}", title.removeprefix("test_").replace("_", " "))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            yield Prose(f"{name}:{token.start[0]}", token.string.lstrip("# "))


def markdown_prose(text: str, name: str) -> Iterator[Prose]:
    """Yield the lines of a page outside its code blocks, without inline code and the targets of
    links.
    """
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield Prose(f"{name}:{number}", re.sub(r"`[^`]*`|\]\([^)]*\)", "", line))


def prose_below(folder: Path, root: Path = ROOT) -> Iterator[Prose]:
    """Yield the prose of all Python and Markdown files below a folder of `root` that are written by
    hand.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".py":
            yield from python_prose(path.read_text(encoding="utf-8"), name)
        elif path.suffix == ".md" and not name.startswith(GENERATED):
            yield from markdown_prose(path.read_text(encoding="utf-8"), name)


def measured(prose: Iterator[Prose]) -> Measured:
    """Return the figures of some prose."""
    words, counts = 0, Counter[str]()
    for each in prose:
        words += len(re.findall(r"[A-Za-z][A-Za-z'-]*", each.text))
        counts.update(
            {figure: len(pattern.findall(each.text)) for figure, pattern in PATTERNS.items()}
        )
    return Measured(words, counts)


def places(figure: str, prose: Iterator[Prose]) -> Iterator[str]:
    """Yield each place of a figure with its line of text, e.g. "src/fleet_memory/clock.py:12: the
    text of the line".
    """
    for each in prose:
        for line in each.text.splitlines():
            if PATTERNS[figure].search(line):
                yield f"{each.place}: {line.strip()}"


def main() -> int:
    """Print the figures, or with --list the places of one, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", choices=[*PATTERNS], help="print each place of this figure")
    parser.add_argument("--folder", choices=FOLDERS, default="src", help="where --list looks")
    given = parser.parse_args()
    if given.list:
        sys.stdout.writelines(
            f"{place}\n" for place in places(given.list, prose_below(ROOT / given.folder))
        )
        return 0
    outside: list[str] = []
    for folder in FOLDERS:
        found = measured(prose_below(ROOT / folder))
        ratios = "  ".join(f"{figure} {found.ratio(figure):.2f}" for figure in PATTERNS)
        sys.stdout.write(f"{folder:15} {found.words:7,} words  {ratios}\n")
        outside += [f"{folder}: {figure}" for figure in found.over]
        if folder == "src" and found.ratio("example") < MIN_EXAMPLES:
            outside.append("src: example")
    if outside:
        sys.stderr.write(f"outside the limits: {', '.join(outside)}\n")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
