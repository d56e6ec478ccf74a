"""Edits of JSON with comments that leave every other character as it is.

json-five finds the places; a text is changed by cutting and inserting, so the owner's comments, order, indentation
and line ends survive. A path is the keys from the top. Every function takes a text and returns one; each raises
InvalidArgumentError with the line when the text is no JSON or something else stands in the way.
"""

import json
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from json5.loader import ModelLoader, loads
from json5.model import JSONArray, JSONObject, JSONText, Node
from json5.tokenizer import tokenize

from fleet_memory.errors import InvalidArgumentError

INDENT: Final = "  "  # where the text shows none of its own


class Part(NamedTuple):
    """One member of an object, or one element of an array: its value, and where it starts and ends in the text."""

    value: object
    start: int
    value_start: int
    end: int
    key: str = ""


class Container(NamedTuple):
    """An object or an array in a text, from its opening bracket to behind its closing one."""

    start: int
    end: int
    parts: Sequence[Part]
    nodes: Sequence[Node]
    is_object: bool


def value_at(text: str, path: Sequence[str]) -> object:
    """Return the value at a path, None when there is none."""
    value: object = loads(_sound(text))
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def with_member(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with `value`, which is not null, at the path; objects on the way are made."""
    text = _sound(text)
    if value_at(text, path) == value:
        return text
    *above, key = path
    container, missing = _deepest(text, above)
    if not container.is_object:
        raise InvalidArgumentError(f"{'.'.join(above)} is no object; nothing was changed")
    if missing:
        return _inserted(text, container, _nested([*missing[1:], key], value), missing[0])
    old = next((part for part in reversed(container.parts) if part.key == key), None)
    if old is None:
        return _inserted(text, container, value, key)
    return text[: old.value_start] + _written(text, value, _indent(text, old.start)) + text[old.end :]


def with_element(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with `value` as the last element of the array at the path, unless it has such an element."""
    found = value_at(text, path)
    if found is None:
        return with_member(text, path, [value])
    if isinstance(found, list) and value in found:
        return text
    container, missing = _deepest(_sound(text), path)
    if missing or container.is_object:
        raise InvalidArgumentError(f"{'.'.join(path)} is no array; nothing was changed")
    return _inserted(text, container, value)


def without(text: str, path: Sequence[str], unwanted: Callable[[str, object], bool]) -> str:
    """Return the text without the members or elements of the container at the path that are unwanted (key, value)."""
    while True:
        container, missing = _deepest(_sound(text), path)
        doomed = [i for i, part in enumerate(container.parts) if unwanted(part.key, part.value)]
        if missing or not doomed:
            return text
        text = _cut(text, container, doomed[-1])


def _sound(text: str) -> str:
    """Return the text, `{}` for an empty one. Raises InvalidArgumentError unless it is one JSON object."""
    if not text.strip():
        return "{}\n"
    try:
        value = loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"not JSON: {str(error).splitlines()[-1].strip()}; nothing was changed") from error
    if not isinstance(value, dict):
        raise InvalidArgumentError("line 1: not a JSON object; nothing was changed")
    return text


def _nested(keys: Sequence[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def _deepest(text: str, path: Sequence[str]) -> tuple[Container, Sequence[str]]:
    """Return the innermost container on the path, and the keys that lead on from there but do not exist."""
    model = loads(text, loader=ModelLoader())
    top = model.value if isinstance(model, JSONText) else None
    if not isinstance(top, JSONObject):
        raise InvalidArgumentError("line 1: not a JSON object; nothing was changed")
    starts = [0, *accumulate(len(line) for line in text.split("\n"))]
    starts = [start + number for number, start in enumerate(starts)]  # the line ends count too
    here = _container(text, top, starts)
    for depth, key in enumerate(path):
        position = next((i for i in reversed(range(len(here.parts))) if here.parts[i].key == key), None)
        if position is None:
            return here, path[depth:]
        node = here.nodes[position]
        if not isinstance(node, JSONObject | JSONArray):
            raise InvalidArgumentError(f"line {node.lineno}: {key!r} is no object; nothing was changed")
        here = _container(text, node, starts)
    return here, ()


def _container(text: str, node: JSONObject | JSONArray, starts: Sequence[int]) -> Container:
    def span(found: Node) -> tuple[int, int]:
        start = starts[(found.lineno or 1) - 1] + (found.col_offset or 0)
        return start, starts[(found.end_lineno or 1) - 1] + (found.end_col_offset or 0)

    keys = node.keys if isinstance(node, JSONObject) else node.values
    parts = []
    for key, value in zip(keys, node.values, strict=True):
        (start, _), (value_start, end) = span(key), span(value)
        name = str(loads(f"{{{text[slice(*span(key))]}: 0}}").popitem()[0]) if isinstance(node, JSONObject) else ""
        parts.append(Part(loads(text[value_start:end]), start, value_start, end, name))
    return Container(*span(node), parts, list(node.values), isinstance(node, JSONObject))


def _inserted(text: str, container: Container, value: object, key: str = "") -> str:
    """Return the text with one more part at the end of the container."""
    close, newline = container.end - 1, _newline(text)
    last = container.parts[-1].end if container.parts else container.start + 1
    named = f"{json.dumps(key, ensure_ascii=False)}: " if container.is_object else ""
    several = "\n" in text[container.start : close]
    if container.parts and not several:
        return f"{text[:last]}, {named}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    outer = _indent(text, container.start)
    indent = _indent(text, container.parts[-1].start) if container.parts else outer + _unit(text)
    part = f"{newline}{indent}{named}{_written(text, value, indent)}"
    if not several:
        return f"{text[:last]}{part}{newline}{outer}{text[close:]}"
    end = len(text[:close].rstrip())  # behind the comments that follow the last part
    trailing = any(kind == "COMMA" for kind, _, _ in _tokens(text, last, close))
    comma = "," if container.parts and not trailing else ""
    return f"{text[:last]}{comma}{text[last:end]}{part}{',' if trailing else ''}{text[end:]}"


def _cut(text: str, container: Container, position: int) -> str:
    """Return the text without one part and its comma, and without its lines when it was alone on them."""
    parts = container.parts
    start, end = parts[position].start, parts[position].end
    until = parts[position + 1].start if position + 1 < len(parts) else container.end
    commas = [(at, stop) for kind, at, stop in _tokens(text, end, until) if kind == "COMMA"]
    if commas:
        end = commas[0][1]
    elif position > 0:
        before = parts[position - 1].end
        ((at, stop),) = [(at, stop) for kind, at, stop in _tokens(text, before, start) if kind == "COMMA"]
        text = text[:at] + text[stop:]
        start, end = start - (stop - at), end - (stop - at)
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if not text[line_start:start].strip() and not text[end:line_end].strip() and line_end >= 0 and line_start > 0:
        return text[: line_start - 1].removesuffix("\r") + text[line_end - (text[line_end - 1] == "\r") :]
    return text[:start].rstrip(" \t") + text[end:]


def _tokens(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """Return kind, start and end of each token between two places of a text."""
    return [(str(token.type), token.index, token.end) for token in tokenize(text) if start <= token.index < end]


def _written(text: str, value: object, indent: str) -> str:
    """Return a value as JSON in the manner of the text; all lines but the first begin with `indent`."""
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, position: int) -> str:
    """Return the indentation of a position's line."""
    line = text[text.rfind("\n", 0, position) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one step of the text's indentation."""
    indents = (_indent(line, 0) for line in text.splitlines() if line.strip())
    return next((indent for indent in indents if indent), INDENT)
