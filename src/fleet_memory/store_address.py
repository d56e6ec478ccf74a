"""Addresses of stores, e.g. `firestore://project/database`, and their locations."""

import re
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.extensions import names

MAX_ECHO_CHARS: Final = 80  # characters of a bad value that an error repeats
_PROJECT = re.compile(r"[a-z0-9][a-z0-9.:-]{2,62}")
_DATABASE = re.compile(r"\(default\)|[a-z][a-z0-9-]{2,62}")


class SqliteFile(NamedTuple):
    """A memory in one file, by its absolute path."""

    path: Path


class FirestoreDatabase(NamedTuple):
    """A memory in a Google Cloud project."""

    project: str
    database: str = "(default)"


class OtherStore(NamedTuple):
    """A memory in an engine of another distribution: its name, and the address that it reads."""

    engine: str
    address: str


StoreLocation: TypeAlias = SqliteFile | FirestoreDatabase | OtherStore

# The addresses that `location` reads, by engine, as an error and docs/configuration.md show them
ADDRESS_FORMS: Final = {
    "sqlite": "a path, sqlite:///relative.db, sqlite:////absolute.db",
    "firestore": "firestore://PROJECT[/DATABASE]",
}


def location(text: str) -> StoreLocation:
    """Return the location of an address. Raises ValueError, which repeats at most 80 characters of
    it.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _file(text, text)
    if scheme == "sqlite" and rest.startswith("/"):
        return _file(
            rest[1:], text
        )  # as everywhere: three slashes and a relative path, four and an absolute one
    if scheme == "firestore":
        return _database(rest, text)
    if scheme != "sqlite" and scheme in names("stores"):
        return OtherStore(scheme, text)
    raise ValueError(f"{quoted(text)} is no store")


def store_text(place: StoreLocation) -> str:
    """Return the address of a location, which `location` reads again."""
    match place:
        case SqliteFile(path):
            return str(path)
        case FirestoreDatabase(project, database):
            return f"firestore://{project}/{database}"
        case OtherStore(_, address):
            return address


def engine_name(place: StoreLocation) -> str:
    """Return the name of the engine of a location, e.g. "sqlite"."""
    match place:
        case SqliteFile():
            return "sqlite"
        case FirestoreDatabase():
            return "firestore"
        case OtherStore(engine):
            return engine


def _file(path: str, text: str) -> SqliteFile:
    if not path.strip() or "\0" in path:
        raise ValueError(f"{quoted(text)} names no file")
    if path == ":memory:":
        raise ValueError("':memory:' would forget everything when the server stops")
    try:
        return SqliteFile(Path(path).expanduser().absolute())
    except RuntimeError as error:
        raise ValueError(f"{quoted(text)} names no home directory") from error
    except FileNotFoundError as error:
        raise ValueError(
            f"{quoted(text)} is relative, and the working directory is gone"
        ) from error


def _database(rest: str, text: str) -> FirestoreDatabase:
    project, separator, database = rest.partition("/")
    if not _PROJECT.fullmatch(project) or (separator and not _DATABASE.fullmatch(database)):
        raise ValueError(f"{quoted(text)} names no Firestore project and database")
    return FirestoreDatabase(project, database or "(default)")


def quoted(text: str) -> str:
    """Return a bad value as an error repeats it."""
    return repr(text if len(text) <= MAX_ECHO_CHARS else text[:MAX_ECHO_CHARS] + "…")
