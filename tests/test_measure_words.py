"""The words of docstrings, comments, titles of tests and pages are counted, and each figure has its
places.
"""

from pathlib import Path
from textwrap import dedent

import pytest

from scripts.measure_words import (
    Measured,
    Prose,
    markdown_prose,
    measured,
    places,
    prose_below,
    python_prose,
)

SOURCE = dedent('''\
    #!/usr/bin/env python
    """A module."""

    LIMIT = 3  # words at most
    """A value."""


    class Clock:
        """A class."""

        async def test_time_moves_on(self):
            """A method."""
            return "no prose", """none either"""
    ''')
PAGE = dedent("""\
    # A title

    Run `say hello` and [read](what/anew.md) on.

    ```console
    $ say nothing
    ```
    * A point
    """)


def test_docstrings_comments_and_titles_of_tests_are_prose_and_strings_are_not() -> None:
    assert sorted(python_prose(SOURCE, "clock.py")) == [
        Prose("clock.py:11", "time moves on"),
        Prose("clock.py:12", "A method."),
        Prose("clock.py:2", "A module."),
        Prose("clock.py:4", "words at most"),
        Prose("clock.py:5", "A value."),
        Prose("clock.py:9", "A class."),
    ]


def test_a_page_is_prose_without_its_code_and_targets_of_links() -> None:
    assert [each for each in markdown_prose(PAGE, "page.md") if each.text] == [
        Prose("page.md:1", "# A title"),
        Prose("page.md:3", "Run  and [read on."),
        Prose("page.md:8", "* A point"),
    ]


def test_a_folder_is_its_python_and_markdown_files_without_generated_pages(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    for name in ("tools/recall.md", "b.md", "a/conf.py", "story.svg"):
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text("# words\n")
    assert [*prose_below(pages, tmp_path)] == [
        Prose(f"{pages.name}/a/conf.py:1", "words"),
        Prose(f"{pages.name}/b.md:1", "# words"),
    ]


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("Whatever it was, of which somewhat", {"what": 2}),
        ("She says and said: essay", {"say": 2}),
        ("Told to tell a teller", {"told": 2}),
        ("Nobody, beside the point, besides", {"odd": 2}),
        ("For example this, e.g. that", {"example": 2}),
        ("Examples:\n    >>> 1 + 1\n    half(4) == 2\n    a name -> its key", {"example": 4}),
        ("An answer of two lines\na == b", {}),
    ],
)
def test_each_figure_counts_its_words(text: str, figures: dict[str, int]) -> None:
    counts = measured(iter([Prose("a.py:1", text)])).counts
    assert {figure: count for figure, count in counts.items() if count} == figures


def test_figures_are_occurrences_per_1000_words() -> None:
    found = measured(
        iter([Prose("a.py:1", "It's a well-known 3-word line"), Prose("a.py:2", "says nobody")])
    )
    assert found == Measured(7, {"what": 0, "say": 1, "told": 0, "odd": 1, "example": 0})
    assert (found.ratio("say"), found.ratio("what"), Measured(0, {"say": 0}).ratio("say")) == (
        1000 / 7,
        0,
        0,
    )


def test_a_figure_at_its_limit_is_over_and_one_below_is_not() -> None:
    assert Measured(10_000, {"what": 20, "say": 9, "told": 6, "odd": 9}).over == ["what", "told"]
    assert Measured(10_000, {"what": 19, "say": 9, "told": 5, "odd": 9}).over == []


def test_a_place_is_a_line_with_the_file_and_the_beginning_of_its_prose() -> None:
    prose = [Prose("a.py:1", "A title.\n\n    It says so."), Prose("a.py:7", "It is so.")]
    assert [*places("say", iter(prose))] == ["a.py:1: It says so."]
