"""`fleet-memory export` and `fleet-memory import`."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import print_json, progress
from fleet_memory.errors import EXIT_NO
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add both commands."""
    export = commands.add_parser("export", parents=[shared], help="write the fleet's memory to a file")
    export.add_argument("file", metavar="FILE.jsonl")
    export.add_argument("--force", action="store_true", help="replace the file if it exists")
    export.set_defaults(run=_export)
    import_ = commands.add_parser("import", parents=[shared], help="put a file of `export` into the store")
    import_.add_argument("file", metavar="FILE.jsonl")
    import_.add_argument("--overwrite", action="store_true", help="replace what the store holds in another version")
    import_.set_defaults(run=_import)


def _export(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.clock import clock  # noqa: PLC0415 half a second
    from fleet_memory.jobs.transfer import exported  # noqa: PLC0415 the same

    file, now = Path(given.file), clock(settings.now)()
    with progress("collections") as step:
        count = anyio.run(partial(exported, settings, file, now, force=given.force, step=step))
    print_json({"fleet": settings.fleet, "documents": count})
    return 0


def _import(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs.transfer import imported  # noqa: PLC0415 half a second

    with progress("documents") as step:
        done = anyio.run(partial(imported, settings, Path(given.file), overwrite=given.overwrite, step=step))
    print_json(done._asdict())
    return EXIT_NO if done.skipped else 0
