"""Markdown as note programs write it: the front matter of a file, its paragraphs and list items.

Front matter are `name: value` lines between two lines of three hyphens, before the text; of YAML
plain and quoted values without escapes, `[a, b]`, and lists of `- a` lines. Others are passed over.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

_FIELDS_FENCE: Final = "---"
_FIELD: Final = re.compile(r"([A-Za-z_][\w.-]*):(?:\s+(.*))?")
_VALUE_ITEM: Final = re.compile(r"\s*-\s+(.+)")


class MarkdownFile(NamedTuple):
    """A Markdown file: the values of its front matter by name, a list for each, and the text after
    it.
    """

    fields: Mapping[str, tuple[str, ...]]
    body: str

    def first(self, name: str) -> str:
        """Return the first value of this name, "" where there is none."""
        return next(iter(self.fields.get(name, ())), "")


def markdown_file(text: str) -> MarkdownFile:
    r"""Return a file with its front matter apart, e.g. `---\ntags: [a, b]\n---\nText` has the tags
    a and b.

    A file without front matter, or with an unclosed one, is all text.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FIELDS_FENCE or _FIELDS_FENCE not in (
        ends := [line.rstrip() for line in lines[1:]]
    ):
        return MarkdownFile({}, "\n".join(lines))
    end = ends.index(_FIELDS_FENCE) + 1
    return MarkdownFile(_fields(lines[1:end]), "\n".join(lines[end + 1 :]))


def _fields(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    fields: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in lines:
        if field := _FIELD.fullmatch(line):
            name = field[1]
            fields[name] = _values(field[2] or "")
        elif name and (item := _VALUE_ITEM.fullmatch(line)):
            fields[name] = (*fields[name], *_values(item[1]))
    return fields


def _values(text: str) -> tuple[str, ...]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return tuple(value for part in text[1:-1].split(",") for value in _values(part))
    return (text.strip("\"'"),) if text else ()


_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(.*?)[\s#]*")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_ASIDE: Final = re.compile(
    r"\s{0,3}(?:#{1,6}(?:\s|$)|>|\||<|(?:[-*_]\s*){3,}$|=+\s*$)"
)  # headings, quotes, tables, HTML, rules


class TextBlock(NamedTuple):
    """A paragraph or a list item, its lines joined by spaces: the number of its first line, from 1
    on, and the heading above it, "" for none.
    """

    text: str
    line: int
    heading: str
    is_item: bool = False


def text_blocks(text: str) -> Sequence[TextBlock]:
    """Return the paragraphs and list items in their order, without headings, code, tables,
    quotations and HTML.
    """
    blocks: list[TextBlock] = []
    is_open, fence, heading = False, "", ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = match[1] if (match := _FENCE.match(line)) else ""
        if fence or mark or not line.strip() or _ASIDE.match(line):
            is_open = False
            if not fence and (title := _HEADING.fullmatch(line)):
                heading = title[1]
            fence = ("" if mark.startswith(fence) else fence) if fence else mark
        elif item := _ITEM.fullmatch(line):
            blocks.append(TextBlock(item[1].strip(), number, heading, is_item=True))
            is_open = True
        elif is_open:
            blocks[-1] = blocks[-1]._replace(text=f"{blocks[-1].text} {line.strip()}")
        else:
            blocks.append(TextBlock(line.strip(), number, heading))
            is_open = True
    return [block for block in blocks if block.text]
