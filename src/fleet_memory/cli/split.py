"""`fleet-memory split KEY --program P`."""

import argparse
import os
from dataclasses import replace

import anyio

from fleet_memory.cli.entry_words import add_key, add_why
from fleet_memory.cli.printing import print_json
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.splitting import split_entry
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments; --program, the contributor, is among the settings."""
    add_key(parser)
    parser.add_argument("--pattern", metavar="ID", help="which of its lessons, where it contributes several")
    add_why(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Take the contribution out and print the entry's state."""
    program = given.program
    if program is None:
        raise InvalidArgumentError("--program: required; whose contribution is not the same?")
    caller = replace(settings, program=os.environ.get("FLEET_MEMORY_PROGRAM") or None)  # the flag names a contributor
    split = anyio.run(
        with_fleet, caller, lambda fleet: split_entry(fleet, given.key, program, given.pattern, given.why)
    )
    print_json({"key": split.key, "state": split.state, "programId": split.program_id, "patternId": split.pattern_id})
    return 0
