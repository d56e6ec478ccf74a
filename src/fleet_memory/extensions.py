"""Parts that are chosen by name: toolsets, stores, embedders and importers; and the addresses of
stores, e.g. `firestore://project/database`.

Ours stand in `extensions.toml`; other distributions add theirs as entry points of the groups
`fleet_memory.toolsets`, `.stores`, `.embedders` and `.importers`.
"""

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, NamedTuple

# A table, and no entry points: a source tree needs no installing, and a start reads no metadata
OWN: Final[Mapping[str, Mapping[str, str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def names(kind: str) -> tuple[str, ...]:
    """Return the names of all parts of a kind, e.g. "stores", ours first."""
    added = {entry.name for entry in entry_points(group=f"fleet_memory.{kind}")}
    return (*OWN[kind], *sorted(added - OWN[kind].keys()))


def part(kind: str, name: str) -> Any:  # noqa: ANN401 each kind has a type of its own
    """Import a part and return it, e.g. the store `sqlite`. Raises KeyError for an unknown name."""
    if place := OWN[kind].get(name):
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)
    return entry_points(group=f"fleet_memory.{kind}")[name].load()


MAX_ECHO_CHARS: Final = 80  # characters of a bad value that an error repeats
_FIRESTORE = re.compile(
    r"firestore://([a-z0-9][a-z0-9.:-]{2,62})(?:/(\(default\)|[a-z][a-z0-9-]{2,62}))?"
)


class StoreLocation(NamedTuple):
    """Where a memory is: the name of its engine and the words that this is opened with, e.g.
    "sqlite" and an absolute path, "firestore", a project and a database; any other with its
    address. Its text is an address that `location` reads again.
    """

    engine: str
    words: tuple[str, ...]

    @property
    def file(self) -> Path | None:
        """The file of a memory in one, None for any other."""
        return Path(self.words[0]) if self.engine == "sqlite" else None

    def __str__(self) -> str:
        """Return its address."""
        return f"firestore://{'/'.join(self.words)}" if len(self.words) > 1 else self.words[0]


def location(text: str) -> StoreLocation:
    """Return the location of an address. Raises ValueError, which repeats at most 80 characters of
    it.
    """
    scheme, separator, rest = text.partition("://")
    # as everywhere: three slashes and a relative path, four and an absolute one
    if not separator or (scheme == "sqlite" and rest.startswith("/")):
        return _file(rest[1:] if separator else text, text)
    if found := _FIRESTORE.fullmatch(text):
        return StoreLocation("firestore", (found[1], found[2] or "(default)"))
    if scheme not in OWN["stores"] and scheme in names("stores"):
        return StoreLocation(scheme, (text,))
    raise ValueError(f"{quoted(text)} is no store")


def file_location(file: Path) -> StoreLocation:
    """Return the location of a memory in a file."""
    return StoreLocation("sqlite", (str(file),))


def _file(path: str, text: str) -> StoreLocation:
    with suppress(RuntimeError, FileNotFoundError):  # no such user, or no working directory
        if path.strip() and "\0" not in path and path != ":memory:":
            return file_location(Path(path).expanduser().absolute())
    raise ValueError(f"{quoted(text)} names no file")


def quoted(text: str) -> str:
    """Return a bad value as an error repeats it."""
    return repr(text if len(text) <= MAX_ECHO_CHARS else text[:MAX_ECHO_CHARS] + "…")
