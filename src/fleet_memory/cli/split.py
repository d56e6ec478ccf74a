"""`fleet-memory split KEY`: take a wrong contribution, that of --program, out of an entry."""

import argparse
from typing import Final

from fleet_memory.cli.entry_words import add_key, add_why
from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import print_answer
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.splitting import split_entry
from fleet_memory.settings import Settings

EXAMPLE: Final = 'fleet-memory split pattern/git/rebase-often --program iso --why "about svn"'
USES: Final = MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments; --program is the contributor here, not the caller."""
    add_key(parser)
    parser.add_argument("--program", metavar="PROGRAM", help="whose contribution it is")
    parser.add_argument(
        "--pattern", metavar="ID", help="which of its lessons, where it contributes several"
    )
    add_why(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Take the contribution out and print the entry's state."""
    program = given.program
    if program is None:
        raise InvalidArgumentError("--program: required; whose contribution is not the same?")
    split = with_memory(
        settings, lambda fleet: split_entry(fleet, given.key, program, given.pattern, given.why)
    )
    wire = {
        "key": split.key,
        "state": split.state,
        "programId": split.program_id,
        "patternId": split.pattern_id,
    }
    text = f"{split.key} is {split.state}, without {split.program_id}/{split.pattern_id}"
    print_answer(wire, text, as_json=given.json)
    return 0
