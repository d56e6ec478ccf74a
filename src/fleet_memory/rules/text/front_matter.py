"""The front matter of a Markdown file: `name: value` lines between two lines of three hyphens,
before the text.

Reads the part of YAML that note programs write: plain and quoted values, `[a, b]`, and lists of `-
a` lines. Other lines are passed over.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

OWN_SOURCE: Final = "fleet-memory"  # the `source` of the files that `export --memory-dir` writes

_FENCE: Final = "---"
_FIELD: Final = re.compile(r"([A-Za-z_][\w.-]*):(?:\s+(.*))?")
_ITEM: Final = re.compile(r"\s*-\s+(.+)")


class MarkdownFile(NamedTuple):
    """A Markdown file: the values of its front matter by name, a list for each, and the text after
    it.
    """

    fields: Mapping[str, tuple[str, ...]]
    body: str

    def first(self, name: str) -> str:
        """Return the first value of this name, "" where there is none."""
        return next(iter(self.fields.get(name, ())), "")

    @property
    def is_own(self) -> bool:
        """Whether `fleet-memory export --memory-dir` wrote it."""
        return self.first("source") == OWN_SOURCE


def markdown_file(text: str) -> MarkdownFile:
    r"""Return a file with its front matter apart, e.g. `---\ntags: [a, b]\n---\nText` has the tags
    a and b.

    A file without front matter, or with one that does not end, is all text.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE or _FENCE not in (ends := [line.rstrip() for line in lines[1:]]):
        return MarkdownFile({}, "\n".join(lines))
    end = ends.index(_FENCE) + 1
    return MarkdownFile(_fields(lines[1:end]), "\n".join(lines[end + 1 :]))


def quoted_value(text: str) -> str:
    """Return a text as one value of front matter, always on one line."""
    return "".join(
        mark if mark.isprintable() else f"\\u{ord(mark):04x}" if ord(mark) < 0x10000 else " "
        for mark in json.dumps(text, ensure_ascii=False)
    )


def _fields(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    fields: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in lines:
        if field := _FIELD.fullmatch(line):
            name = field[1]
            fields[name] = _values(field[2] or "")
        elif name and (item := _ITEM.fullmatch(line)):
            fields[name] = (*fields[name], *_values(item[1]))
    return fields


def _values(text: str) -> tuple[str, ...]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return tuple(value for part in text[1:-1].split(",") for value in _values(part))
    if text.startswith('"'):
        try:
            return (str(json.loads(text)),)
        except ValueError:
            return (text.strip('"'),)
    return (text.strip("'"),) if text else ()
