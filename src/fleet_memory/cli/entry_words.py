"""The arguments and the answer that the commands about one entry share: retire, reinstate, reword."""

import argparse

from fleet_memory.cli.printing import print_json
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.curation import Curated


def add_key(parser: argparse.ArgumentParser) -> None:
    """Define KEY."""
    parser.add_argument("key", metavar="KEY", help="for example pattern/task-claiming/check-status-before-claiming")


def add_why(parser: argparse.ArgumentParser) -> None:
    """Define --why."""
    parser.add_argument("--why", metavar="TEXT", required=True, help="the reason, kept in the entry's history")


def print_curated(curated: Curated) -> int:
    """Print an entry's key, its state and whether that changed; return 0, or 1 when it was so before."""
    print_json(curated._asdict())
    return 0 if curated.changed else EXIT_NO
