"""`fleet-memory reembed`."""

import argparse
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import print_json, progress
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    reembed = commands.add_parser("reembed", parents=[shared], help="move the memory to the configured embedder")
    reembed.set_defaults(run=_reembed)


def _reembed(_: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs.reembedding import reembedded  # noqa: PLC0415 half a second

    with progress("programs and entries") as step:
        moved = anyio.run(reembedded, settings, step)
    print_json(moved._asdict())
    return 0
