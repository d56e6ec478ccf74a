"""`fleet-memory reinstate KEY`: bring a retired entry back."""

import argparse
from typing import Final

from fleet_memory.cli.entry_words import add_key, add_why, print_curated
from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.jobs.curation import reinstate_entry
from fleet_memory.settings import Settings

EXAMPLE: Final = 'fleet-memory reinstate pattern/git/rebase-often --why "we rebase again"'
USES: Final = MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_key(parser)
    add_why(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Bring the entry back and print its state; 1 when it was not retired."""
    curated = with_memory(settings, lambda fleet: reinstate_entry(fleet, given.key, given.why))
    return print_curated(curated, as_json=given.json)
