"""`fleet-memory import`: merge a file of `export` into the store."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.import_foreign import add_foreign, require_import_flags, run_foreign
from fleet_memory.cli.printing import add_json_flag, agreed, complain, print_answer
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.clock import clock
from fleet_memory.errors import EXIT_NO
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.transfer.files import parsed_file, read_bytes
from fleet_memory.jobs.transfer.merging import Merged, import_memory
from fleet_memory.jobs.transfer.reading import ExportedMemory, exported_memory
from fleet_memory.server.composition import caller_of_process, with_fleet
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory import backup.jsonl --store copy.db"
USES: Final = MEMORY
STDIN: Final = "-"
_DIVERGENT: Final = (
    "have another text here; the other one is in the archive, an entry of its own, "
    "or a rewording that --overwrite takes over"
)
_MAX_NAMED: Final = 25  # lessons and entries of a kind that the text names; --json has all of them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="of `export`, - for stdin; with --from of another program"
    )
    add_foreign(parser)
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="of two texts of one lesson the file's stays, the other is archived; entries that "
        "people "
        "there reworded or reinstated are so here",
    )
    parser.add_argument(
        "--policy",
        action="store_true",
        help="also set the policy of the file's fleet and its rules",
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not ask when the file is of a fleet of another name"
    )
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Merge the file into the store and print the outcome; 1 when something of it is not in use
    now.
    """
    if given.source:
        return run_foreign(given, settings)
    require_import_flags(given)
    caller_of_process(settings).require_curation()
    content = sys.stdin.buffer.read() if given.file == STDIN else read_bytes(Path(given.file))
    memory = exported_memory(parsed_file(content), clock(settings.now)())
    source = memory.incoming.fleet
    question = f"The file is of fleet {source}, and goes into fleet {settings.fleet}. Import it?"
    if source not in ("", settings.fleet) and not given.yes and not agreed(question):
        return EXIT_NO
    merged = _merged(memory, given, settings)
    if given.policy and memory.incoming.policy is None and not memory.incoming.rules:
        complain("--policy: the file has no policy and no rules; those of this fleet stay")
    print_answer(merged._asdict(), "\n".join(_lines(merged)), as_json=given.json)
    return 0 if merged.is_complete else EXIT_NO


def _merged(memory: ExportedMemory, given: argparse.Namespace, settings: Settings) -> Merged:
    with progress_bar("documents") as step:

        async def import_(fleet: Fleet) -> Merged:
            return await import_memory(
                fleet, memory, overwrite=given.overwrite, with_policy=given.policy, step=step
            )

        return anyio.run(with_fleet, settings, import_)


def _lines(merged: Merged) -> list[str]:
    origin = f"fleet {merged.source}" if merged.source else "the file"
    return [
        f"Merged {origin} into fleet {merged.fleet}: {merged.written} documents written, "
        f"{merged.unchanged} unchanged.",
        *_named(_DIVERGENT, merged.divergent),
        *_named("were over the cap and are in the archive", merged.archived),
        *_named(
            "left this memory since and stay in its archive (--overwrite brings them back)",
            merged.left,
        ),
        *_named(
            "are rules that people set in that fleet, and no rules here (--policy makes them "
            "rules)",
            merged.rules,
        ),
    ]


def _named(title: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = len(names) - _MAX_NAMED
    others = [f"  and {more} more"] if more > 0 else []
    return [f"{len(names)} {title}:", *(f"  {name}" for name in names[:_MAX_NAMED]), *others]
