"""`fleet-memory check`: check that the memory can be read and is intact."""

import argparse
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.existing import is_there
from fleet_memory.cli.printing import add_json_flag, print_answer, table_lines
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.check import CheckReport, check_memory
from fleet_memory.server.composition import open_embedder, with_store
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile, engine_name

EXAMPLE: Final = "fleet-memory check --store team.db"
USES: Final = ("store", "fleet", "embedder", "embedder_url")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; 1 when something is not as it should be, or a memory that was named is
    not there.
    """
    report = _check(settings)
    rows = _place(settings) | report.rows
    print_answer(
        rows,
        "\n".join(table_lines({name: _worded(value) for name, value in rows.items()})),
        as_json=given.json,
    )
    return 0 if report.healthy else EXIT_NO


def _check(settings: Settings) -> CheckReport:
    embedder, place = open_embedder(settings), settings.store
    if is_there(place):
        return anyio.run(
            with_store, settings, lambda store: check_memory(store, settings.fleet, embedder)
        )
    report = anyio.run(check_memory, None, settings.fleet, embedder)  # opening it would create it
    writable = isinstance(place, SqliteFile) and _can_create(place.path)
    rows = report.rows | ({} if writable else {"writable": False})
    return CheckReport(rows, report.healthy and writable and settings.named_store is None)


def _can_create(file: Path) -> bool:
    """Whether this user may create a file, and the folders above it that are missing."""
    above = next(folder for folder in file.parents if os.path.exists(folder))  # noqa: PTH110 no error where a user may not look
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)


def _place(settings: Settings) -> dict[str, object]:
    place = settings.store
    row: dict[str, object] = {"store": engine_name(place)}
    if isinstance(place, SqliteFile):
        return row | {"file": str(place.path), "sqlite": sqlite3.sqlite_version}
    return row | place._asdict()


def _worded(value: object) -> list[str]:
    """Return a row's value as lines for a person."""
    match value:
        case bool():
            return ["yes" if value else "no"]
        case Mapping():
            return [", ".join(f"{count} {name}" for name, count in value.items()) or "none"]
        case list():
            return [str(item) for item in value]
    return [str(value)]
