"""Blocking the event loop fails a test, and each exemption in conftest.py names a function that
exists.
"""

import ast
import re
from pathlib import Path

import pytest
from blockbuster import BlockingError

import fleet_memory
from fleet_memory.similarity.minilm import FOLDER, check_files

CONFTEST = Path(__file__).parent.parent / "conftest.py"
PACKAGE = Path(fleet_memory.__file__).parent


@pytest.mark.anyio
async def test_reading_a_file_on_the_event_loop_fails() -> None:
    with pytest.raises(BlockingError):
        check_files(FOLDER)


def test_every_exemption_names_a_function_of_the_package() -> None:
    exempt = re.findall(r'\("fleet_memory/(.+?)", "(\w+)"\)', CONFTEST.read_text())
    assert exempt
    assert [name for name in exempt if name[1] not in functions(PACKAGE / name[0])] == []


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
