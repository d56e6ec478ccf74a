"""The sizes of the code: a function fits on one screen, a file is read in one go."""

import ast
from collections.abc import Iterator
from pathlib import Path

import fleet_memory

PACKAGE = Path(fleet_memory.__file__).parent
MAX_FUNCTION_LINES = 40  # lines from `def` to the end, docstring included; CONTRIBUTING.md, "Style"
# lines of a tool's own function: its signature and docstring are the schema that agents read
MAX_TOOL_LINES = 60
MAX_FILE_LINES = 300


def too_long(path: Path, text: str) -> Iterator[str]:
    """Yield the file and each function that are longer than their limits, with their lines."""
    lines = len(text.splitlines())
    if lines > MAX_FILE_LINES:
        yield f"{path}: {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_tool = path.parent.name == "tools" and node.name == path.stem
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > (MAX_TOOL_LINES if is_tool else MAX_FUNCTION_LINES):
                yield f"{path}: {node.name}, {lines} lines"


def function(name: str, lines: int) -> str:
    return f"async def {name}():\n" + "    pass\n" * (lines - 1)


def test_functions_and_files_are_short() -> None:
    assert [
        found
        for path in PACKAGE.rglob("*.py")
        for found in too_long(path, path.read_text(encoding="utf-8"))
    ] == []


def test_a_function_or_file_above_its_limit_is_refused() -> None:
    job, tool = Path("jobs/sweep.py"), Path("tools/store_memory.py")
    assert list(too_long(job, function("sweep", 40) + "\n" * 260)) == []
    assert list(too_long(job, function("sweep", 41) + "\n" * 260)) == [
        f"{job}: 301 lines",
        f"{job}: sweep, 41 lines",
    ]
    assert list(too_long(tool, function("store_memory", 60) + function("_stored", 40))) == []
    refused = list(too_long(tool, function("store_memory", 61) + function("_stored", 41)))
    assert refused == [f"{tool}: store_memory, 61 lines", f"{tool}: _stored, 41 lines"]
