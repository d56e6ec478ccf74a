"""Edits of TOML that keep every comment and key of the owner, by `tomlkit`.

The result is read again by `tomllib` and must mean the same, else nothing is changed. Each function
raises InvalidArgumentError.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Final

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from fleet_memory.errors import InvalidArgumentError

_MARK: Final = "\0"  # which no text has that is TOML


def read_document(text: str) -> dict[str, object]:
    """Return the document that the text is; a float is its text, so that each is equal to
    itself.
    """
    try:
        return tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgumentError(f"not TOML: {error}; nothing was changed") from error


def comments_of_toml(text: str) -> list[str]:
    """Return what may be a comment in a text, e.g. ["# mine"]; a `#` in a string begins one too."""
    return re.findall(r"#.*", text)


def put_table(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return the text with these values, strings and lists of strings, in the table at the path;
    its others stay.
    """
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
    return _edited(text, path, lambda part: _with(part, path, values), wanted)


def cut_value(text: str, path: Sequence[str]) -> str:
    """Return the text without the table or value at the path; comments that stand behind a table
    stay.
    """
    wanted = deepcopy(read_document(text))
    above: object = wanted
    for key in path[:-1]:
        above = above.get(key) if isinstance(above, dict) else None
    if not isinstance(above, dict) or path[-1] not in above:
        return text
    del above[path[-1]]
    bare = (
        wanted if above else {key: value for key, value in wanted.items() if key != path[0]}
    )  # a parent by header
    return _edited(text, path, lambda part: _without(part, path), wanted, bare)


def _edited(
    text: str, path: Sequence[str], edit: Callable[[str], str], *wanted: Mapping[str, object]
) -> str:
    """Return the first edit that means one of those wanted, with the line ends that the text
    had.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    for before, table, behind in _split(text.replace("\r\n", "\n"), path):
        with suppress(TOMLKitError, InvalidArgumentError):
            changed = edit(table)
            start = before.removesuffix("\n") if before.endswith("\n\n") and not changed else before
            draft = (start + changed + behind).replace("\n", newline)
            if read_document(draft) in wanted:
                return draft
    raise InvalidArgumentError(
        f"{'.'.join(path)} is written in a way that only its owner can edit; nothing was changed"
    )


def _with(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return the text with the values in the table; a new one is a member of an inline table, or
    stands at the end.
    """
    document = tomlkit.parse(text)
    above, table = _at(document, path[:-1]), _at(document, path)
    if table is None and not isinstance(above, InlineTable):
        start = text.removesuffix("\n") + "\n\n" if text else ""
        return start + tomlkit.dumps({path[0]: {path[1]: values}})
    _require_same(document, text)
    if isinstance(above, InlineTable) and table is None:
        above[path[-1]] = table = tomlkit.inline_table()
    if isinstance(table, MutableMapping):
        for key in (key for key in values if table.get(key) != values[key]):
            table[key] = values[key]
    return tomlkit.dumps(document)


def _without(text: str, path: Sequence[str]) -> str:
    document = tomlkit.parse(text)
    _require_same(document, text)
    above = _at(document, path[:-1])
    if isinstance(above, MutableMapping):
        del above[path[-1]]
    return tomlkit.dumps(document)


def _require_same(document: TOMLDocument, text: str) -> None:
    if (
        tomlkit.dumps(document) != text
    ):  # tables of one kind together where an array of others stood between
        raise InvalidArgumentError("tomlkit moves tables")


def _split(text: str, path: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield ways to split the text into all before the table at the path, or around it, the table,
    and all behind.

    tomlkit gets only the table to edit: it puts tables together between which an array of others
    stands.
    """
    for table_path in (path, path[:-1]):
        for header in re.finditer(
            rf"^(?=\[{re.escape('.'.join(table_path))}\])", text, re.MULTILINE
        ):
            with suppress(TOMLKitError):
                before, rest = text[: header.start()], text[header.start() :]
                table = _marked(tomlkit.parse(rest), table_path).partition(_MARK)[0]
                if rest.startswith(table):
                    yield before, table, rest.removeprefix(table)
    yield "", text, ""


def _marked(document: TOMLDocument, path: Sequence[str]) -> str:
    """Return a document's text with a mark behind the last value of the table at the path."""
    table = _at(document, path)
    while isinstance(table, Table):
        body = table.value.body
        last = max((i for i, (key, _) in enumerate(body) if key is not None), default=-1)
        inner = body[last][1] if last >= 0 else None
        if not isinstance(inner, Table):
            body.insert(last + 1, (None, tomlkit.ws(_MARK)))
        table = inner
    return tomlkit.dumps(document)


def _at(value: object, path: Sequence[str]) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, MutableMapping) else None
    return value
