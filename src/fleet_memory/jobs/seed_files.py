"""Reads seed files: the rules that people set for the whole fleet."""

import json
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.transfer.files import read_bytes
from fleet_memory.rules.curating import key_of
from fleet_memory.rules.text.shown_names import shown
from fleet_memory.schemas.seeds import Seed, SeedFile


def read_seeds(file: Path) -> dict[str, Seed]:
    """Return a file's rules by key: TOML, or JSON by its suffix. Raises InvalidArgumentError with
    the row and field.
    """
    text = _text(file)
    try:
        content = json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
        return keyed_seeds(
            SeedFile.model_validate_json(json.dumps(content, default=str), strict=True).entry
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidArgumentError(
            f"{_place(first['loc'])}: {first['msg']} (in {file.name})"
        ) from error
    except ValueError as error:
        raise InvalidArgumentError(f"FILE: {file.name}: {error}") from error
    except RecursionError as error:
        raise InvalidArgumentError(f"FILE: {file.name} is nested too deeply") from error


def _text(file: Path) -> str:
    """Return a file's text, without the byte order mark that editors on Windows write."""
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"FILE: {file.name} is not UTF-8 text (byte {error.start})"
        ) from error


def _place(location: Sequence[str | int]) -> str:
    """Return where a problem is, e.g. "entry 1.text" for the first entry's text."""
    match location:
        case ["entry", int(at), *fields]:
            return ".".join([f"entry {at + 1}", *map(shown, map(str, fields))])
        case _:
            return ".".join(map(shown, map(str, location))) or "FILE"


def keyed_seeds(seeds: Iterable[Seed]) -> dict[str, Seed]:
    """Return seeds by their keys. Raises InvalidArgumentError for a key that two have."""
    by_key: dict[str, Seed] = {}
    for number, seed in enumerate(seeds, 1):
        key = key_of(seed)
        if key in by_key:
            raise InvalidArgumentError(
                f"entry {number}.key: {key!r} is an earlier entry's too; give one another key"
            )
        by_key[key] = seed
    return by_key
