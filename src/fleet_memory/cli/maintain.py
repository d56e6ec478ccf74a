"""`fleet-memory maintain`."""

import argparse
from dataclasses import replace

import anyio

from fleet_memory.cli.model_run import model_line
from fleet_memory.cli.printing import print_json, say
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.maintenance import Maintained, maintain_fleet, rehearse_maintenance
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rebuild", action="store_true", help="also compare what boot reads with every entry")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Maintain the fleet once and print a summary."""
    with progress_bar("maintenance") as step:

        async def report(done: float, total: float, message: str) -> None:
            step(int(done), int(total), message)

        async def maintain(fleet: Fleet) -> Maintained:
            work = rehearse_maintenance if given.dry_run else maintain_fleet
            return await work(fleet, report, rebuild=given.rebuild)

        maintained = anyio.run(with_fleet, replace(settings, maintain=True), maintain)
    if given.json:
        print_json(maintained.wire())
    else:
        say("\n".join(_lines(maintained)))
    return 0


def _lines(maintained: Maintained) -> list[str]:
    """Return the summary: a line per step, and one for each lesson or entry concerned."""
    return [
        "dry run, nothing was written" if maintained.dry_run else "done",
        f"archived: {len(maintained.archived)}",
        *(f"  {lesson.program_id}/{lesson.pattern_id}: {lesson.pattern}" for lesson in maintained.archived),
        f"promoted: {len(maintained.promoted)}",
        *(f"  {key}" for key in maintained.promoted),
        f"updated: {len(maintained.updated)}",
        *(f"  {key}" for key in maintained.updated),
        f"echoes: {maintained.echoes}",
        f"pairs to judge, new: {maintained.opened}",
        f"waiting: {maintained.waiting}",
        *(f"skipped: {name}" for name in maintained.skipped),
        *([f"renewed: {maintained.renewed}"] if maintained.renewed is not None else []),
        *([f"judge model {model_line(maintained.judge_model)}"] if maintained.judge_model else []),
    ]
