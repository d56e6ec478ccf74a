"""The sentences that docs/troubleshooting.md explains are those of the program."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import fleet_memory

ROOT = Path(__file__).parent.parent
PACKAGE = Path(fleet_memory.__file__).parent
PAGE = ROOT / "docs" / "troubleshooting.md"
OF_OTHERS = {  # uv, pip, the shell, clients; and examples
    "invalid peer certificate: UnknownIssuer",
    "No matching distribution found",
    "CERTIFICATE_VERIFY_FAILED",
    "fleet-memory: command not found",
    "Server returned an error response",
    "spawn fleet-memory ENOENT",
    "grpcio",
    "onnxruntime",
    "MEMORY.md",
    "api-3f9c21",
    "exists: false",  # a field of answers
}


def quoted(page: str) -> Iterator[str]:
    """Yield the parts of the code in first columns, e.g. "it is" and ", this is" of `it is …, this
    is …`.
    """
    for cell in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE):
        for span in re.findall(r"`([^`]+)`", cell):
            if span not in OF_OTHERS:
                yield from (part.strip() for part in span.split("…") if part.strip())


def texts_of_the_program() -> str:
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py"))
    constants = (
        node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)
    )
    return "\n".join(value for value in constants if isinstance(value, str))


def test_each_sentence_of_the_page_is_one_of_the_program() -> None:
    program = texts_of_the_program()
    assert [part for part in quoted(PAGE.read_text(encoding="utf-8")) if part not in program] == []


def test_a_sentence_that_the_program_never_prints_is_seen() -> None:
    assert list(
        quoted("| you see | do |\n| `it is …, this is it` or `CERTIFICATE_VERIFY_FAILED` | x |")
    ) == [
        "it is",
        ", this is it",
    ]
