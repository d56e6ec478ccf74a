"""A fact stands on one page, and the others link to it: no two pages share twelve words in a
row.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
GENERATED = {"docs/commands.md", "docs/configuration.md", "docs/benchmarks.md"}
"""And docs/tools: a setting stands where it counts, a figure where it is measured."""
MAX_SHARED_WORDS = 11
"""In a row, in one paragraph, list item or cell, without a figure; chosen: a name and its
definition are fewer.
"""
BETWEEN = re.compile(r"\n\s*\n|^\s*[-*] |\||\d", re.MULTILINE)


def test_no_page_repeats_another() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    texts = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in pages}
    own = {name: text for name, text in texts.items() if name not in {*GENERATED, "CHANGELOG.md"}}
    assert (
        list(
            repeats(
                {name: text for name, text in own.items() if not name.startswith("docs/tools/")}
            )
        )
        == []
    )


def test_words_in_a_row_are_found_across_lines_and_links_but_not_across_cells_or_code() -> None:
    sentence = "A server reads the policy of its fleet once a minute, and not more"
    linked = (
        "So it is: a server\nreads the [policy](policy.md) of its fleet once a minute, and not "
        "much less."
    )
    code = (
        f"```text\n{sentence}\n```\n| A server reads the policy of | its fleet once a minute, "
        "and not |"
    )
    assert list(repeats({"a": sentence, "b": linked, "c": code})) == [
        "a, b: a server reads the policy of its fleet once a minute and"
    ]


def repeats(pages: Mapping[str, str]) -> Iterator[str]:
    """Yield the first repetition of each two pages, with their names."""
    first: dict[tuple[str, ...], str] = {}
    named: set[tuple[str, str]] = set()
    for name, text in sorted(pages.items()):
        for row in rows_of_words(text):
            other = first.setdefault(row, name)
            if other != name and (other, name) not in named:
                named.add((other, name))
                yield f"{other}, {name}: {' '.join(row)}"


def rows_of_words(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each `MAX_SHARED_WORDS` + 1 words in a row, without code, comments and the addresses of
    links.
    """
    prose = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    for part in BETWEEN.split(re.sub(r"\]\([^)]*\)", "]", prose)):
        words = re.findall(r"[^\W\d][\w']*", part.lower())  # figures may be quoted
        yield from (
            tuple(words[at : at + MAX_SHARED_WORDS + 1])
            for at in range(len(words) - MAX_SHARED_WORDS)
        )
