"""`fleet-memory retire KEY`."""

import argparse
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import print_json
from fleet_memory.errors import EXIT_NO
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    retire = commands.add_parser("retire", parents=[shared], help="take an entry of shared knowledge out of use")
    retire.add_argument("key", metavar="KEY", help="for example pattern/task-claiming/check-status-before-claiming")
    retire.add_argument("--why", metavar="TEXT", required=True, help="the reason, kept in the entry's history")
    retire.add_argument("--undo", action="store_true", help="bring a retired entry back")
    retire.set_defaults(run=_retire)


def _retire(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs import curation  # noqa: PLC0415 half a second
    from fleet_memory.server.composition import with_fleet  # noqa: PLC0415 the same

    done = anyio.run(with_fleet, settings, lambda fleet: curation.retire(fleet, given.key, given.why, undo=given.undo))
    print_json(done._asdict())
    return 0 if done.changed else EXIT_NO
