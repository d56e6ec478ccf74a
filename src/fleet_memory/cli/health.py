"""`fleet-memory health`."""

import argparse
from typing import Final

import anyio
from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fleet_memory.cli.call import UNHEALTHY
from fleet_memory.cli.health_report import Wellbeing, asked, shown
from fleet_memory.cli.printing import print_json, refused
from fleet_memory.errors import EXIT_NO
from fleet_memory.settings import Settings

BAR_WIDTH: Final = 20  # characters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the health that was asked for; 1 when the verdict is not a good one."""
    answer = anyio.run(asked, settings)
    if answer.refusal:
        return refused(answer.refusal)
    if given.json:
        print_json(answer.content)
    else:
        _print(shown(answer, settings))
    return EXIT_NO if answer.content["verdict"] in UNHEALTHY else 0


def _print(told: Wellbeing) -> None:
    console = Console()
    table = Table(title=Text(f"{told.title}: {told.verdict}"), title_justify="left", show_header=False)
    for row in told.rows:
        bar = "" if row.share is None else ProgressBar(total=1, completed=row.share, width=BAR_WIDTH)
        table.add_row(Text(row.name), bar, Text(row.value))
    console.print(table)
    for line in told.advice:
        console.print(Text(line), soft_wrap=True)  # whole sentences for whoever greps
