"""Edits of JSON with comments that leave every other character as it is.

`json` reads; this module only finds places. Spaces replace comments and trailing commas first, so
that a place in the plain text is the same place in the owner's. A path leads from the top by keys
and positions, e.g. ("hooks", "Stop", 0). Each function raises InvalidArgumentError, with the line,
when the text is no JSON object or the path leads through another kind of value.
"""

import json
import re
from collections.abc import Sequence
from json.decoder import JSONDecoder
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.errors import InvalidArgumentError

Path: TypeAlias = Sequence[str | int]

INDENT: Final = "  "  # where the text shows none of its own
_STRING: Final = r'"(?:[^"\\\n]|\\.)*+"'
_COMMENT: Final = re.compile(rf"{_STRING}|(//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(rf"{_STRING}|(,)(?=\s*[}}\]])")
_BLANK: Final = re.compile(r"\s*")
_DECODER: Final = JSONDecoder()


class _Part(NamedTuple):
    """A member of an object or an element of an array, and where it and its value stand."""

    key: str | int
    start: int
    value_start: int
    end: int


class _Container(NamedTuple):
    """An object or array: where it starts and where its bracket closes."""

    start: int
    close: int
    parts: Sequence[_Part]


class _Texts(NamedTuple):
    """The owner's text, the same without comments, and the same without trailing commas: all of one
    length.
    """

    owned: str
    bare: str
    plain: str


def read_object(text: str) -> dict[str, object]:
    """Return the object that the text is, {} for an empty text."""
    return _parsed(text)[1]


def comments_of_json(text: str) -> list[str]:
    """Return the comments of a text, e.g. ["// mine"]."""
    return [match[1] for match in _COMMENT.finditer(text) if match[1]]


def put(text: str, path: Path, value: object) -> str:
    """Return the text with `value` at the path; objects on the way are made, the position after the
    last appends.
    """
    texts, _ = _parsed(text)
    trail = _trail(texts.plain, path)
    at = trail[-1][1].value_start if trail else _skip_blank(texts.plain, 0)
    if len(trail) == len(path):
        _, part = trail[-1]
        if _DECODER.raw_decode(texts.plain, at)[0] == value:
            return text
        return (
            texts.owned[:at]
            + _written(texts.owned, value, _indent(texts.owned, part.start))
            + texts.owned[part.end :]
        )
    key = path[len(trail)]
    if texts.plain[at] != ("{" if isinstance(key, str) else "["):
        kind, line = (
            ("object" if isinstance(key, str) else "array"),
            texts.plain.count("\n", 0, at) + 1,
        )
        raise InvalidArgumentError(
            f"line {line}: {path[len(trail) - 1]!r} is no {kind}; nothing was changed"
        )
    return _inserted(
        texts, _container(texts.plain, at), key, _nested(path[len(trail) + 1 :], value)
    )


def cut(text: str, path: Path) -> str:
    """Return the text without the part at the path, its comma, and its lines if it was alone on
    them.
    """
    texts, _ = _parsed(text)
    trail = _trail(texts.plain, path)
    return _without(texts, *trail[-1]) if len(trail) == len(path) else text


def _trail(plain: str, path: Path) -> list[tuple[_Container, _Part]]:
    """Return the container and the part for each key of the path, as far as they exist."""
    trail, at = list[tuple[_Container, _Part]](), _skip_blank(plain, 0)
    for key in path:
        container = _container(plain, at) if plain[at] in "{[" else _Container(at, at, ())
        part = next(
            (part for part in reversed(container.parts) if part.key == key), None
        )  # the last counts
        if part is None:
            break
        trail.append((container, part))
        at = part.value_start
    return trail


def _parsed(text: str) -> tuple[_Texts, dict[str, object]]:
    owned = text if text.strip() else "{}\n"
    bare = plain = owned
    try:
        try:
            document = json.loads(plain)
        except ValueError:  # perhaps only for its comments
            bare = _COMMENT.sub(_blanked, owned)
            plain = _TRAILING_COMMA.sub(_blanked, bare)
            document = json.loads(plain)
    except ValueError as error:
        raise InvalidArgumentError(f"not JSON: {error}; nothing was changed") from error
    except RecursionError as error:
        raise InvalidArgumentError("not JSON: nested too deeply; nothing was changed") from error
    if not isinstance(document, dict):
        raise InvalidArgumentError("line 1: not a JSON object; nothing was changed")
    return _Texts(owned, bare, plain), document


def _blanked(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else re.sub(r"[^\r\n]", " ", match[0])


def _skip_blank(plain: str, at: int) -> int:
    match = _BLANK.match(plain, at)
    return match.end() if match else at


def _container(plain: str, start: int) -> _Container:
    """Return the container that starts there; the text is known to be right."""
    at, parts = _skip_blank(plain, start + 1), list[_Part]()
    while plain[at] not in "}]":
        begin, key = at, len(parts)
        if plain[start] == "{":
            key, at = _DECODER.raw_decode(plain, at)
            at = _skip_blank(plain, _skip_blank(plain, at) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(plain, at)
        parts.append(_Part(key, begin, at, end))
        at = _skip_blank(plain, end)
        if plain[at] == ",":
            at = _skip_blank(plain, at + 1)
    return _Container(start, at, parts)


def _nested(keys: Path, value: object) -> object:
    for key in reversed(keys):
        value = {key: value} if isinstance(key, str) else [value]
    return value


def _inserted(texts: _Texts, container: _Container, key: str | int, value: object) -> str:
    """Return the text with one more part at the end of the container."""
    text, close, newline = texts.owned, container.close, _newline(texts.owned)
    last = container.parts[-1].end if container.parts else container.start + 1
    named = f"{_dumped(key)}: " if isinstance(key, str) else ""
    several = "\n" in text[container.start : close]
    if container.parts and not several:
        return f"{text[:last]}, {named}{_dumped(value)}{text[last:]}"
    outer = _indent(text, container.start)
    indent = _indent(text, container.parts[-1].start) if container.parts else outer + _unit(text)
    part = f"{newline}{indent}{named}{_written(text, value, indent)}"
    if not several:
        comment = text[last:close].rstrip()
        return f"{text[:last]}{comment}{part}{newline}{outer}{text[close:]}"
    end = len(text[:close].rstrip())  # behind the comments that follow the last part
    trailing = "," in texts.bare[last:close]
    comma = "," if container.parts and not trailing else ""
    return f"{text[:last]}{comma}{text[last:end]}{part}{',' if trailing else ''}{text[end:]}"


def _without(texts: _Texts, container: _Container, part: _Part) -> str:
    text, parts, position = texts.owned, container.parts, container.parts.index(part)
    start, end = part.start, part.end
    if len(parts) == 1 and not (
        text[container.start + 1 : start] + text[end : container.close]
    ).strip(", \t\r\n"):
        return text[: container.start + 1] + text[container.close :]
    until = parts[position + 1].start if position + 1 < len(parts) else container.close
    comma = texts.bare.find(",", end, until)
    if comma >= 0:
        text = text[:comma] + text[comma + 1 :]
    elif position > 0:
        comma = texts.bare.index(",", parts[position - 1].end, start)
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if (
        not text[line_start:start].strip()
        and not text[end:line_end].strip()
        and 0 < line_start <= line_end
    ):
        return (
            text[: line_start - 1].removesuffix("\r")
            + text[line_end - (text[line_end - 1] == "\r") :]
        )
    return text[:start].rstrip(" \t") + text[end:]


def _written(text: str, value: object, indent: str) -> str:
    """Return a value as JSON in the manner of the text; all lines but the first begin with
    `indent`.
    """
    return _dumped(value, _unit(text)).replace("\n", _newline(text) + indent)


def _dumped(value: object, indent: str | None = None) -> str:
    """Return a value as JSON; half of a surrogate pair, which UTF-8 cannot write, is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return re.sub(r"[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, position: int) -> str:
    """Return the indentation of a position's line."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one step of the text's indentation."""
    match = re.search(r"^[ \t]+(?=\S)", text, re.MULTILINE)
    return match[0] if match else INDENT
