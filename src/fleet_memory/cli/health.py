"""`fleet-memory health`."""

import argparse
from typing import TYPE_CHECKING

from fleet_memory.cli.call import UNHEALTHY
from fleet_memory.cli.printing import EXIT_NO, print_json, say
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    health = commands.add_parser(
        "health", parents=[shared], help="show how the fleet's memory does, or one program's with --program"
    )
    health.add_argument("--json", action="store_true", help="print one JSON object")
    health.set_defaults(run=_health)


def _health(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.cli.health_report import health_of, report  # noqa: PLC0415 half a second

    answer = anyio.run(health_of, settings)
    if given.json:
        print_json(answer.wire())
    else:
        say("\n".join(report(answer, settings.fleet)))
    return EXIT_NO if answer.verdict in UNHEALTHY else 0
