"""`fleet-memory health`."""

import argparse
from typing import TYPE_CHECKING, Final

from fleet_memory.cli.call import UNHEALTHY
from fleet_memory.cli.printing import EXIT_NO, print_json, refused
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.health_report import Wellbeing
    from fleet_memory.cli.printing import Commands

BAR_WIDTH: Final = 20  # characters


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    health = commands.add_parser(
        "health", parents=[shared], help="show how the fleet's memory does, or one program's with --program"
    )
    health.add_argument("--json", action="store_true", help="print one JSON object")
    health.set_defaults(run=_health)


def _health(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.cli.health_report import asked, shown  # noqa: PLC0415 half a second

    answer = anyio.run(asked, settings)
    if answer.refusal:
        return refused(answer.refusal)
    if given.json:
        print_json(answer.content)
    else:
        _print(shown(answer, settings))
    return EXIT_NO if answer.content["verdict"] in UNHEALTHY else 0


def _print(told: "Wellbeing") -> None:
    from rich.console import Console  # noqa: PLC0415 only for people
    from rich.progress_bar import ProgressBar  # noqa: PLC0415 the same
    from rich.table import Table  # noqa: PLC0415 the same
    from rich.text import Text  # noqa: PLC0415 the same

    console = Console()
    table = Table(title=Text(f"{told.title}: {told.verdict}"), title_justify="left", show_header=False)
    for row in told.rows:
        bar = "" if row.share is None else ProgressBar(total=1, completed=row.share, width=BAR_WIDTH)
        table.add_row(Text(row.name), bar, Text(row.value))
    console.print(table)
    for line in told.advice:
        console.print(Text(line), soft_wrap=True)  # whole sentences for whoever greps
