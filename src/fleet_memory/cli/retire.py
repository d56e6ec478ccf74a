"""`fleet-memory retire KEY`."""

import argparse

import anyio

from fleet_memory.cli.printing import print_json
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("key", metavar="KEY", help="for example pattern/task-claiming/check-status-before-claiming")
    parser.add_argument("--why", metavar="TEXT", required=True, help="the reason, kept in the entry's history")
    parser.add_argument("--undo", action="store_true", help="bring a retired entry back")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Retire the entry, or bring it back, and print its status; 1 when it had that status before."""
    retired = anyio.run(with_fleet, settings, lambda fleet: retire_entry(fleet, given.key, given.why, undo=given.undo))
    print_json(retired._asdict())
    return 0 if retired.changed else EXIT_NO
