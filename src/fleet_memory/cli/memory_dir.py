"""`fleet-memory export --memory-dir DIR`: the knowledge as Markdown files."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

import anyio

from fleet_memory.cli.printing import print_json
from fleet_memory.jobs.memory_files import export_memory_files
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings


def add_memory_dir(parser: argparse.ArgumentParser) -> None:
    """Define the flag; --program, whose lessons are files too, is among the settings."""
    parser.add_argument(
        "--memory-dir",
        metavar="DIR",
        help="write the knowledge as read-only Markdown files instead, with --program that program's lessons too",
    )


def run_memory_dir(given: argparse.Namespace, settings: Settings) -> int:
    """Write the files and print how many there are."""
    caller = replace(settings, program=os.environ.get("FLEET_MEMORY_PROGRAM") or None)  # the flag names whose lessons
    folder = Path(given.memory_dir)
    done = anyio.run(with_fleet, caller, lambda fleet: export_memory_files(fleet, folder, given.program))
    print_json(done._asdict())
    return 0
