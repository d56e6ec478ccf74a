"""`fleet-memory reword KEY TEXT`: give an entry another text."""

import argparse
from typing import Final

from fleet_memory.cli.entry_words import add_key, add_why, print_curated
from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.jobs.curation import reword_entry
from fleet_memory.settings import Settings

EXAMPLE: Final = 'fleet-memory reword pattern/git/rebase-often "Rebase daily" --why "clearer"'
USES: Final = MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_key(parser)
    parser.add_argument("text", metavar="TEXT", help="the new text; key and contributions stay")
    add_why(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Give the entry another text and print its state; 1 when it had that text before."""
    curated = with_memory(
        settings, lambda fleet: reword_entry(fleet, given.key, given.text, given.why)
    )
    return print_curated(curated, as_json=given.json)
