"""`fleet-memory restore`: list the archive of --program, or bring back one of its lessons or notes."""

import argparse
from typing import Final

import anyio

from fleet_memory.cli.printing import print_json
from fleet_memory.cli.settings_flags import OWN_MEMORY
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory restore --program basher"
USES: Final = OWN_MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("id", metavar="ID", nargs="?", help="of the archive, or the lesson's or note's own")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """List the archive, or restore from it and print the restored item; 1 when there is no room for it."""
    program = settings.program
    if program is None:
        raise InvalidArgumentError("--program: required; whose archive is it?")
    if given.id is None:
        archive = anyio.run(with_fleet, settings, lambda fleet: list_archive(fleet, program))
        print_json({"programId": program, "archive": archive})
        return 0
    restored = anyio.run(with_fleet, settings, lambda fleet: restore_archived(fleet, program, given.id))
    print_json({"programId": program, **restored})
    return 0 if restored["restored"] else EXIT_NO
