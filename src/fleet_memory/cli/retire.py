"""`fleet-memory retire KEY`: take an entry of shared knowledge out of use."""

import argparse
from typing import Final

from fleet_memory.cli.entry_words import add_key, add_why, print_curated
from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.settings import Settings

EXAMPLE: Final = 'fleet-memory retire pattern/git/rebase-often --why "we merge now"'
USES: Final = MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_key(parser)
    add_why(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Retire the entry and print its state; 1 when it was retired before."""
    curated = with_memory(settings, lambda fleet: retire_entry(fleet, given.key, given.why))
    return print_curated(curated, as_json=given.json)
