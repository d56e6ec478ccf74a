"""`fleet-memory check`: say whether the memory can be read and is intact."""

import argparse
import sys
from typing import Final

import anyio

from fleet_memory.cli.printing import add_json_flag, print_json, say
from fleet_memory.cli.terminal import print_table
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.check import CheckReport, check_memory
from fleet_memory.server.composition import open_embedder, with_store
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile

EXAMPLE: Final = "fleet-memory check --store team.db"
USES: Final = ("store", "fleet", "embedder", "embedder_url")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; 1 when something is not as it should be."""
    report = anyio.run(_check, settings)
    rows = _place(settings) | report.rows
    if given.json:
        print_json(rows)
    elif sys.stdout.isatty():
        print_table(rows)
    else:
        say("\n".join(f"{name}: {value}" for name, value in rows.items()))
    return 0 if report.healthy else EXIT_NO


async def _check(settings: Settings) -> CheckReport:
    embedder = open_embedder(settings)
    if isinstance(settings.store, SqliteFile) and not await anyio.Path(settings.store.path).exists():
        return await check_memory(None, settings.fleet, embedder)  # opening it would create it
    return await with_store(settings, lambda store: check_memory(store, settings.fleet, embedder))


def _place(settings: Settings) -> dict[str, object]:
    match settings.store:
        case SqliteFile(path):
            return {"store": "sqlite", "file": str(path.absolute())}
        case database:
            return {"store": "firestore", "project": database.project, "database": database.database}
