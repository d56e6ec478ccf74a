"""The paragraphs and list items of a Markdown text, each as one line: the texts in it that state
something.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

BlockKind: TypeAlias = Literal["item", "paragraph"]

_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_ASIDE: Final = re.compile(
    r"\s{0,3}(?:#{1,6}(?:\s|$)|>|\||<|(?:[-*_]\s*){3,}$|=+\s*$)"
)  # headings, quotes, tables, HTML, rules


class TextBlock(NamedTuple):
    """A paragraph or a list item, its lines joined by spaces."""

    kind: BlockKind
    text: str


def text_blocks(text: str) -> Sequence[TextBlock]:
    """Return the paragraphs and list items in their order, without headings, code, tables,
    quotations and HTML.
    """
    blocks: list[TextBlock] = []
    is_open = False
    for line in _prose_lines(text):
        if not line.strip() or _ASIDE.match(line):
            is_open = False
        elif item := _ITEM.fullmatch(line):
            blocks.append(TextBlock("item", item[1].strip()))
            is_open = True
        elif is_open:
            blocks[-1] = blocks[-1]._replace(text=f"{blocks[-1].text} {line.strip()}")
        else:
            blocks.append(TextBlock("paragraph", line.strip()))
            is_open = True
    return [block for block in blocks if block.text]


def _prose_lines(text: str) -> Iterator[str]:
    """Yield the lines outside fenced code; a blank one stands for each block of code."""
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match[1].startswith(fence) else fence
        elif match:
            fence = match[1]
            yield ""
        else:
            yield line
