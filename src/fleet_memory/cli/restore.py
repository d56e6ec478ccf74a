"""`fleet-memory restore`."""

import argparse
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import print_json
from fleet_memory.errors import EXIT_NO
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    restore = commands.add_parser(
        "restore", parents=[shared], help="bring back a lesson or note of --program from the archive, or list them"
    )
    restore.add_argument("id", metavar="ID", nargs="?", help="of the archive, or the lesson's or note's own")
    restore.set_defaults(run=_restore)


def _restore(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs import restoration  # noqa: PLC0415 half a second

    if given.id is None:
        print_json({"programId": settings.program, "archive": anyio.run(restoration.listed, settings)})
        return 0
    told = anyio.run(restoration.restore_archived, settings, given.id)
    print_json({"programId": settings.program, **told})
    return 0 if told["restored"] else EXIT_NO
