"""`fleet-memory check`."""

import argparse
import sys
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import print_json, print_table, say
from fleet_memory.errors import EXIT_NO
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    check = commands.add_parser("check", parents=[shared], help="say whether the memory can be read and is intact")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(run=_check)


def _check(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs.check import checkup  # noqa: PLC0415 half a second

    report = anyio.run(checkup, settings)
    if given.json:
        print_json(report.rows)
    elif sys.stdout.isatty():
        print_table(report.rows)
    else:
        say("\n".join(f"{name}: {value}" for name, value in report.rows.items()))
    return 0 if report.healthy else EXIT_NO
