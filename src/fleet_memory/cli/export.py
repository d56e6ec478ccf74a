"""`fleet-memory export`: write the fleet's memory to a file."""

import argparse
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import anyio
from anyio import to_thread

from fleet_memory.cli.memory_dir import add_memory_dir, run_memory_dir
from fleet_memory.cli.printing import (
    add_json_flag,
    complain,
    flush_output,
    print_answer,
    require_stdout,
    say,
)
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.transfer.files import export_text, require_room, write_whole
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile

EXAMPLE: Final = "fleet-memory export backup.jsonl"
USES: Final = ("store", "fleet", "now")
STDOUT: Final = "-"


class _Export(NamedTuple):
    """The text of a file, and how many documents it has."""

    text: str
    documents: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "file", metavar="FILE.jsonl", nargs="?", help="the file to write; - for stdout"
    )
    add_memory_dir(parser)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument(
        "--allow-empty",
        action="store_true",
        help="write the file of a fleet that has no memory too",
    )
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Write the file and print how many documents it has; 1 without any, and then nothing is
    written.
    """
    if given.memory_dir is not None:
        return run_memory_dir(given, settings)
    if given.file is None or given.program is not None:
        raise InvalidArgumentError("FILE: required; or --memory-dir DIR, with which --program goes")
    return _run(given, settings)


def _run(given: argparse.Namespace, settings: Settings) -> int:
    if isinstance(settings.store, SqliteFile) and not settings.store.path.exists():
        complain(f"there is no memory at {settings.store.path}; nothing was written")
        return EXIT_NO
    file = None if given.file == STDOUT else Path(given.file)
    if file is None:
        require_stdout()
    else:
        require_room(file, force=given.force)
    content = _exported(settings, file, allow_empty=given.allow_empty)
    if not content.documents and not given.allow_empty:
        complain(
            f"fleet {settings.fleet} has no memory; nothing was written (--allow-empty writes "
            "it all the same)"
        )
        return EXIT_NO
    if file is None:
        say(content.text, end="")
        flush_output()
        complain(f"wrote {content.documents} documents of fleet {settings.fleet}")
    else:
        answer = {"fleet": settings.fleet, "documents": content.documents, "file": str(file)}
        text = (
            f"Wrote {content.documents} documents of fleet {settings.fleet} to {file}, which only "
            "you can read."
        )
        print_answer(answer, text, as_json=given.json)
    return 0


def _exported(settings: Settings, file: Path | None, *, allow_empty: bool) -> _Export:
    """Return the content of the fleet, written to the file if there is one."""
    with progress_bar("collections") as step:

        async def export(fleet: Fleet) -> _Export:
            content = _Export(*await export_text(fleet, step))
            if file is not None and (content.documents or allow_empty):
                await to_thread.run_sync(partial(write_whole, file, content.text))
            return content

        return anyio.run(with_fleet, settings, export)
