"""`fleet-memory demo`: watch three agents learn and share."""

import argparse

from fleet_memory.demo import run_demo
from fleet_memory.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--mine", action="store_true", help="compare sentences of your own instead, typed or piped"
    )
    parser.add_argument(
        "--explain", action="store_true", help="also show the figures behind each decision"
    )


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Play the demo."""
    return run_demo(settings, mine=given.mine, explain=given.explain)
