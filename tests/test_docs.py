"""The generated reference pages are what the code says now."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    made = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))["pages"]()
    assert isinstance(made, dict)
    return made


def test_every_page_is_up_to_date(pages: dict[str, str]) -> None:
    stale = [name for name, text in pages.items() if not _is(ROOT / "docs" / name, text)]
    assert stale == [], "run: python scripts/generate_docs.py"


def test_no_page_is_left_of_a_tool_that_is_gone(pages: dict[str, str]) -> None:
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "tools").glob("*")}
    assert there - pages.keys() == set()


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text
