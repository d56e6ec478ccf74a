"""The arguments and the answer that the commands about one entry share: retire, reinstate,
reword.
"""

import argparse

from fleet_memory.cli.printing import add_json_flag, print_answer
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.curation import Curated


def add_key(parser: argparse.ArgumentParser) -> None:
    """Define KEY."""
    parser.add_argument(
        "key", metavar="KEY", help="for example pattern/task-claiming/check-status-before-claiming"
    )


def add_why(parser: argparse.ArgumentParser) -> None:
    """Define --why and --json."""
    parser.add_argument(
        "--why", metavar="TEXT", required=True, help="the reason, kept in the entry's history"
    )
    add_json_flag(parser)


def print_curated(curated: Curated, *, as_json: bool) -> int:
    """Print an entry's key, its state and whether that changed; return 0, or 1 when it was so
    before.
    """
    already = "" if curated.changed else " already, nothing was changed"
    print_answer(curated._asdict(), f"{curated.key} is {curated.state}{already}", as_json=as_json)
    return 0 if curated.changed else EXIT_NO
