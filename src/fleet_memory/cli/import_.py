"""`fleet-memory import`: put a file of `export` into the store."""

import argparse
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.import_foreign import add_foreign, require_import_flags, run_foreign
from fleet_memory.cli.printing import print_json
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.transfer.importing import Imported, import_fleet
from fleet_memory.server.composition import with_store
from fleet_memory.settings import Settings
from fleet_memory.stores import Store

EXAMPLE: Final = "fleet-memory import backup.jsonl --store copy.db"
USES: Final = ("store", "fleet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="of `export`; with --from a memory of another program")
    add_foreign(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--overwrite", action="store_true", help="replace what the store holds in another version")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Put the file into the store and print how many documents were written; 1 when some were skipped."""
    if given.source:
        return run_foreign(given, settings)
    require_import_flags(given)
    file = Path(given.file)
    with progress_bar("documents") as step:

        async def import_(store: Store) -> Imported:
            return await import_fleet(store, settings.fleet, file, overwrite=given.overwrite, step=step)

        imported = anyio.run(with_store, settings, import_)
    print_json(imported._asdict())
    return EXIT_NO if imported.skipped else 0
