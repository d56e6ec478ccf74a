"""`fleet-memory delete-program PROGRAM`."""

import argparse
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import agreed, print_json
from fleet_memory.errors import EXIT_USAGE
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands
    from fleet_memory.jobs.deletion import Deleted


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    delete = commands.add_parser(
        "delete-program", parents=[shared], help="archive a program's lessons and notes and remove the program"
    )
    delete.add_argument("name", metavar="PROGRAM", help="what it contributed to shared knowledge stays, marked")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.add_argument("--dry-run", action="store_true", help="show what would happen and do nothing")
    delete.set_defaults(run=_delete)


def _delete(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs import deletion  # noqa: PLC0415 half a second
    from fleet_memory.server.composition import with_fleet  # noqa: PLC0415 the same

    found = anyio.run(with_fleet, settings, lambda fleet: deletion.previewed(fleet, given.name))
    if given.dry_run:
        print_json({"dryRun": True, **_wire(found)})
        return 0
    question = f"Delete {given.name} with {found.patterns} lessons and {found.notes} notes?"
    if not (given.yes or agreed(question)):
        return EXIT_USAGE
    print_json(_wire(anyio.run(with_fleet, settings, lambda fleet: deletion.deleted(fleet, given.name))))
    return 0


def _wire(found: "Deleted") -> dict[str, object]:
    return {
        "programId": found.program_id,
        "archivedPatterns": found.patterns,
        "archivedNotes": found.notes,
        "entriesThatKeepIt": list(found.entries),
    }
