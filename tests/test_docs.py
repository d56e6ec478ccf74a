"""Generated pages agree with the code, and every source that code and pages cite is in this
repository.
"""

import re
import runpy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

import fleet_memory

ROOT = Path(__file__).parent.parent
PACKAGE = Path(fleet_memory.__file__).parent
FOLDERS = ("tests", "emulator-tests", "benchmarks", "scripts")
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))

PRIVATE = re.compile(
    r"\b(?:DESIGN|STYLE)\b|\bnotes on \w+, section\b"
)  # papers that only their writers have
CITED_PAGE = re.compile(
    r"(?<![\w./])docs/((?:[\w-]+/)*[\w-]+\.md|(?:[\w-]+/)+)(?:, \"([^\"]+)\"|#([\w-]+))?"
)
MODULE = re.compile(r"`((?:[a-z_-]+/)+[a-z_]+(?:\.py|/))`")
LINK = re.compile(r"\]\(([^)\s]*\.md)?(?:#([\w-]+))?\)")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))


@pytest.fixture(scope="module")
def pages(script: dict[str, Any]) -> dict[str, str]:
    made = script["pages"]()
    assert isinstance(made, dict)
    return made


def test_every_page_is_up_to_date(pages: dict[str, str]) -> None:
    stale = [name for name, text in pages.items() if not _is(ROOT / "docs" / name, text)]
    assert stale == [], "run: python scripts/generate_docs.py"


def test_no_page_is_left_of_a_tool_that_is_gone(pages: dict[str, str]) -> None:
    there = {
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "tools").glob("*")
    }
    assert there - pages.keys() == set()


def test_no_file_cites_a_source_outside_the_repository() -> None:
    assert [f"{name}: {line}" for name, line in code() if PRIVATE.search(line)] == []


def test_every_page_that_code_cites_exists() -> None:
    assert [f"{name}: {line}" for name, line in code() if list(missing_pages(line))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    assert list(missing_modules(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    assert list(dead_links(page, page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_two_sections_of_one_name(page: Path) -> None:
    sections = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(sections) == sorted(set(sections))


def test_every_name_in_the_glossary_is_in_the_code() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert len(list(glossary_names(glossary))) > 80
    assert sorted(set(glossary_names(glossary)) - words_of_the_code()) == []


def test_the_checks_detect_their_violations() -> None:
    assert PRIVATE.search("LIMIT = 5  # Source: DESIGN section 5")
    assert PRIVATE.search("LIMIT = 0.3  # Source: notes on similarity, section 5")
    assert list(
        missing_pages('LIMIT = 5  # docs/decay.md, docs/gone.md, docs/decay.md, "Gone"')
    ) == [
        "docs/gone.md",
        'docs/decay.md, "Gone"',
    ]
    assert list(missing_modules("`rules/text/keys.py`, `rules/gone.py`")) == ["rules/gone.py"]
    assert list(
        glossary_names("| lesson | one | `patternId`, `gone[]` |\n| not | but | `why` |")
    ) == [
        "patternId",
        "gone",
        "why",
    ]
    links = "[a](docs/decay.md#strength) [b](docs/decay.md#gone) [c](gone.md)"
    assert list(dead_links(ROOT / "README.md", links)) == ["docs/decay.md#gone", "gone.md"]


def code() -> Iterator[tuple[str, str]]:
    """Yield each line of the code that is written by hand, with the file's name; not of this file
    and of a trial's environment, which has pages of its own.
    """
    files = [
        *PACKAGE.rglob("*.py"),
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")),
    ]
    for file in [*sorted(files), ROOT / "pyproject.toml"]:
        if file != Path(__file__) and ROOT / "benchmarks" / "trial" not in file.parents:
            yield from (
                (file.name, line.strip()) for line in file.read_text(encoding="utf-8").splitlines()
            )


def missing_pages(line: str) -> Iterator[str]:
    for cited in CITED_PAGE.finditer(line):
        name, title, anchor = cited.groups()
        page = ROOT / "docs" / name
        if not page.exists() or not _has(page, slug(title) if title else anchor):
            yield cited.group()


def missing_modules(text: str) -> Iterator[str]:
    places = (ROOT, PACKAGE)
    named = {
        name: name.removeprefix("src/fleet_memory/") for name in MODULE.findall(text)
    }  # the wheel has no src/
    yield from (
        name
        for name, inside in named.items()
        if not any((place / inside).exists() for place in places)
    )


def dead_links(page: Path, text: str) -> Iterator[str]:
    for link in LINK.finditer(text):
        name, anchor = link.groups()
        target = page.parent / name if name else page
        if not target.exists() or not _has(target, anchor):
            yield link.group()[2:-1]


def glossary_names(text: str) -> Iterator[str]:
    """Yield the names in the last column of the tables of three columns, e.g. `patterns[]` as
    "patterns".
    """
    for cell in re.findall(r"^\|[^|]+\|[^|]+\|([^|]+)\|$", text, re.MULTILINE):
        for code_span in re.findall(r"`([^`]+)`", cell):
            names = (name.strip("_") for name in re.findall(r"[A-Za-z_]{3,}", code_span))
            yield from (
                name for name in names if not name.startswith("FLEET_MEMORY")
            )  # test_readme.py checks these


def words_of_the_code() -> set[str]:
    """Return every word of the package, names with underscores as the wire spells them too."""
    words = {
        word
        for path in PACKAGE.rglob("*.py")
        for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    }
    return words | {to_camel(word) for word in words} | {path.stem for path in PACKAGE.rglob("*")}


def slug(title: str) -> str:
    """Return the anchor that GitHub gives a heading, e.g. "What a call is billed" ->
    "what-a-call-is-billed".
    """
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def headings(text: str) -> Iterable[str]:
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


def _has(page: Path, anchor: str | None) -> bool:
    return anchor is None or anchor in map(slug, headings(page.read_text(encoding="utf-8")))


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text
