"""`fleet-memory export`: write the fleet's memory to a file."""

import argparse
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.memory_dir import add_memory_dir, run_memory_dir
from fleet_memory.cli.printing import print_json
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.clock import clock
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.transfer.exporting import export_fleet
from fleet_memory.server.composition import with_store
from fleet_memory.settings import Settings
from fleet_memory.stores import Store

EXAMPLE: Final = "fleet-memory export backup.jsonl"
USES: Final = ("store", "fleet", "now")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("file", metavar="FILE.jsonl", nargs="?")
    add_memory_dir(parser)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Write the file and print how many documents it has."""
    if given.memory_dir is not None:
        return run_memory_dir(given, settings)
    if given.file is None:
        raise InvalidArgumentError("FILE: required, or --memory-dir DIR")
    file, now = Path(given.file), clock(settings.now)()
    with progress_bar("collections") as step:

        async def export(store: Store) -> int:
            return await export_fleet(store, settings.fleet, file, now, force=given.force, step=step)

        count = anyio.run(with_store, settings, export)
    print_json({"fleet": settings.fleet, "documents": count})
    return 0
