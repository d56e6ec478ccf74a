"""`fleet-memory demo`."""

import argparse
from typing import TYPE_CHECKING

from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    demo = commands.add_parser("demo", parents=[shared], help="watch three agents learn and share")
    demo.add_argument("--mine", action="store_true", help="compare sentences of your own instead, typed or piped")
    demo.add_argument("--explain", action="store_true", help="also show the figures behind each decision")
    demo.set_defaults(run=_demo)


def _demo(given: argparse.Namespace, settings: Settings) -> int:
    from fleet_memory.demo import main as played  # noqa: PLC0415 half a second

    return played(settings, mine=given.mine, explain=given.explain)
