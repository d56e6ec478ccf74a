"""Edits of TOML that leave every other character as it is.

`tomllib` reads; this module splices lines. What comes out is parsed again and must mean what was meant, else nothing is
changed. Each function raises InvalidArgumentError.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Final, NamedTuple

from fleet_memory.errors import InvalidArgumentError

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class _Statement(NamedTuple):
    """Lines that belong together: a header (`table` is its path), a key with its value, a comment or nothing."""

    text: str
    table: tuple[str, ...] | None
    keys: tuple[str, ...]


def read_document(text: str) -> dict[str, object]:
    """Return the document that the text is."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgumentError(f"not TOML: {error}; nothing was changed") from error


def put_table(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return the text with these values, strings and lists of strings, in the table at the path; its others stay."""
    document = read_document(text)
    wanted = deepcopy(document)
    table: dict[str, object] = wanted
    for key in path:
        inner = table.setdefault(key, {})
        if not isinstance(inner, dict):
            raise InvalidArgumentError(f"{key!r} is no table; nothing was changed")
        table = inner
    table.update(values)
    if wanted == document:
        return text
    drafts = [_with_values(text, path, values), _with_inline(text, path, values)]
    return _meaning((wanted,), drafts, path)


def cut_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at the path; comments that stand behind it stay."""
    wanted = deepcopy(read_document(text))
    above: object = wanted
    for key in path[:-1]:
        above = above.get(key) if isinstance(above, dict) else None
    if not isinstance(above, dict) or path[-1] not in above:
        return text
    del above[path[-1]]
    bare = wanted if above else {key: value for key, value in wanted.items() if key != path[0]}  # a parent by header
    return _meaning((wanted, bare), [_without_table(text, path), _without_inline(text, path)], path)


def _meaning(wanted: Sequence[Mapping[str, object]], drafts: Sequence[str], path: Sequence[str]) -> str:
    for draft in drafts:
        if _loads(draft) in wanted:
            return draft
    raise InvalidArgumentError(
        f"{'.'.join(path)} is written in a way that only its owner can edit; nothing was changed"
    )


def _loads(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _statements(text: str) -> list[_Statement]:
    """Return the statements of a right text: as many lines as parse on their own."""
    found, lines = list[_Statement](), ""
    for line in text.splitlines(keepends=True):
        lines += line
        if (value := _loads(lines)) is not None:
            keys = _only_keys(value)
            found.append(_Statement(lines, keys if line.lstrip().startswith("[") and lines == line else None, keys))
            lines = ""
    return found


def _only_keys(value: object) -> tuple[str, ...]:
    """Return the path of a header or of a dotted key, e.g. ("a", "b") of `[a.b]`; a list is an array of tables."""
    keys = list[str]()
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        keys.append(key)
    return tuple(keys)


def _with_values(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    statements = _statements(text)
    head = next((i for i, each in enumerate(statements) if each.table == tuple(path)), None)
    lines = {key: f"{key} = {json.dumps(value, ensure_ascii=False)}{newline}" for key, value in values.items()}
    if head is None:
        name = ".".join(key if _BARE_KEY.fullmatch(key) else json.dumps(key) for key in path)
        start = text if not text or text.endswith("\n") else text + newline
        return f"{start}{newline if text else ''}[{name}]{newline}{''.join(lines.values())}"
    written, last = [each.text for each in statements], head
    for i in range(head + 1, _end_of_table(statements, head)):
        for key in statements[i].keys[:1]:
            last = i
            if key in values and tomllib.loads(statements[i].text)[key] != values[key]:
                written[i] = lines[key]
            lines.pop(key, None)
    written[last] = written[last].rstrip("\r\n") + newline if lines else written[last]
    written[last] += "".join(lines.values())
    return "".join(written)


def _without_table(text: str, path: Sequence[str]) -> str:
    statements = _statements(text)
    kept = [each.text for each in statements]
    for head, each in enumerate(statements):
        if each.table is None or each.table[: len(path)] != tuple(path):
            continue
        last = max(i for i in range(head, _end_of_table(statements, head)) if i == head or statements[i].keys)
        first = head - (head > 0 and not statements[head - 1].text.strip())  # with the empty line before it
        kept[first : last + 1] = [""] * (last + 1 - first)
    return "".join(kept)


def _end_of_table(statements: Sequence[_Statement], head: int) -> int:
    return next((i for i in range(head + 1, len(statements)) if statements[i].table is not None), len(statements))


def _with_inline(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return the text with a new member of an inline table, e.g. `mcp_servers = { ours = {…}, theirs = {…} }`."""
    member = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    opening = re.compile(rf"^([ \t]*{re.escape(path[0])}\s*=\s*\{{)(\s*\}})?", re.MULTILINE)
    return opening.sub(
        lambda found: f"{found[1]} {path[-1]} = {{ {member} }}{found[2] or ','}", _without_inline(text, path), count=1
    )


def _without_inline(text: str, path: Sequence[str]) -> str:
    return re.sub(rf" {re.escape(path[-1])}\s*=\s*\{{[^{{}}]*\}}\s*?(,|(?=\s*\}}))", "", text, count=1)
