"""`fleet-memory reembed`: give every lesson and entry a vector of the configured embedder."""

import argparse
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, print_answer
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.reembedding import reembed_fleet
from fleet_memory.rules.text.counting import counted
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory reembed --embedder lexical"
USES: Final = MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Give everything its new vector and print how much got one; 1 when a program was left out."""
    with progress_bar("programs and entries") as step:
        moved = with_memory(settings, lambda fleet: reembed_fleet(fleet, step))
    lines = [
        f"{counted(moved.patterns, 'lesson')} and "
        f"{counted(moved.entries, 'entry', 'entries')}: {moved.embedder}",
        *(f"left out: {line}" for line in moved.skipped),
    ]
    print_answer(moved._asdict(), "\n".join(lines), as_json=given.json)
    return EXIT_NO if moved.skipped else 0
