"""`fleet-memory reembed`: give every lesson and entry a vector of the configured embedder."""

import argparse
from typing import Final

import anyio

from fleet_memory.cli.printing import print_json
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.reembedding import reembed_fleet
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory reembed --embedder lexical"
USES: Final = MEMORY


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Take the settings alone."""


def run(_: argparse.Namespace, settings: Settings) -> int:
    """Give everything its new vector and print how much got one; 1 when a program was left out."""
    with progress_bar("programs and entries") as step:
        moved = anyio.run(with_fleet, settings, lambda fleet: reembed_fleet(fleet, step))
    print_json(moved._asdict())
    return EXIT_NO if moved.skipped else 0
