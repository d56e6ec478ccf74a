"""`fleet-memory maintain`."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import print_json, progress, say
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands
    from fleet_memory.jobs.maintenance import Maintained


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    maintain = commands.add_parser("maintain", parents=[shared], help="archive what faded and consolidate, for cron")
    maintain.add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
    maintain.add_argument("--json", action="store_true", help="print one JSON object")
    maintain.add_argument("--rebuild", action="store_true", help="also compare what boot reads with every entry")
    maintain.set_defaults(run=_maintain)


def _maintain(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs.maintenance import once  # noqa: PLC0415 half a second

    with progress("maintenance") as step:

        async def report(done: float, total: float, message: str) -> None:
            step(int(done), int(total), message)

        done = anyio.run(partial(once, settings, report, dry_run=given.dry_run, rebuild=given.rebuild))
    if given.json:
        print_json(done.wire())
    else:
        say("\n".join(_lines(done)))
    return 0


def _lines(done: "Maintained") -> list[str]:
    """Return the summary: a line per step, and one for each lesson or entry concerned."""
    return [
        "dry run, nothing was written" if done.dry_run else "done",
        f"archived: {len(done.archived)}",
        *(f"  {one.program_id}/{one.pattern_id}: {one.pattern}" for one in done.archived),
        f"promoted: {len(done.promoted)}",
        *(f"  {key}" for key in done.promoted),
        f"updated: {len(done.updated)}",
        *(f"  {key}" for key in done.updated),
        f"echoes: {done.echoes}",
        f"waiting: {done.waiting}",
        *([f"renewed: {done.renewed}"] if done.renewed is not None else []),
    ]
