"""Edits of TOML that keep the owner's comments and order; tomlkit does the work."""

from collections.abc import Mapping, Sequence

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from fleet_memory.errors import InvalidArgumentError


def with_table(text: str, path: Sequence[str], table: Mapping[str, object]) -> str:
    """Return the text with `table` at the path; one of that content stays. Raises InvalidArgumentError."""
    document = _parsed(text)
    *above, name = path
    here: Container | Table | tomlkit.TOMLDocument = document
    for key in above:
        if key not in here:
            here[key] = tomlkit.table(is_super_table=True)
        inner = here[key]
        if not isinstance(inner, Table):
            raise InvalidArgumentError(f"{key!r} is no table; nothing was changed")
        here = inner
    if here.get(name) == table:
        return text
    made = tomlkit.table()
    for key, value in table.items():
        made[key] = value
    here[name] = made
    return tomlkit.dumps(document)


def without_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at the path, and without a parent that had nothing else."""
    document = _parsed(text)
    *above, name = path
    trail: list[Container | Table | tomlkit.TOMLDocument] = [document]
    for key in above:
        inner = trail[-1].get(key)
        if not isinstance(inner, Table):
            return text
        trail.append(inner)
    if name not in trail[-1]:
        return text
    trail[-1].remove(name)
    for key, holder, emptied in zip(reversed(above), reversed(trail[:-1]), reversed(trail[1:]), strict=True):
        if not emptied:
            holder.remove(key)
    return tomlkit.dumps(document)


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise InvalidArgumentError(f"not TOML: {error}; nothing was changed") from error
