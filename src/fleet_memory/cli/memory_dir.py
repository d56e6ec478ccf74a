"""`fleet-memory export --memory-dir DIR`: the knowledge as Markdown files."""

import argparse
from pathlib import Path

import anyio

from fleet_memory.cli.printing import complain, print_answer
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.jobs.memory_files import export_memory_files
from fleet_memory.rules.knowledge.memory_files import INDEX_NAME
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile


def add_memory_dir(parser: argparse.ArgumentParser) -> None:
    """Define the flag, and --program, which names whose lessons are files too and not the
    caller.
    """
    parser.add_argument(
        "--memory-dir",
        metavar="DIR",
        help="write the knowledge as read-only Markdown files instead",
    )
    parser.add_argument(
        "--program", metavar="PROGRAM", help="with --memory-dir: this program's lessons too"
    )


def run_memory_dir(given: argparse.Namespace, settings: Settings) -> int:
    """Write the files and print how many there are; 1 for a memory that is not there or has
    nothing.
    """
    if given.file is not None:
        raise InvalidArgumentError("--memory-dir: give it or FILE.jsonl, not both")
    if isinstance(settings.store, SqliteFile) and not settings.store.path.exists():
        complain(f"there is no memory at {settings.store.path}; nothing was written")
        return EXIT_NO
    folder = Path(given.memory_dir)
    written = anyio.run(
        with_fleet, settings, lambda fleet: export_memory_files(fleet, folder, given.program)
    )
    if written is None:
        complain(f"fleet {settings.fleet} has no memory; nothing was written")
        return EXIT_NO
    count = written.entries + written.lessons
    text = (
        f"{count} statements and {INDEX_NAME} in {folder}: "
        f"{written.written} files written, {written.unchanged} unchanged, {written.removed} removed"
    )
    print_answer(written._asdict(), text, as_json=given.json)
    return 0
