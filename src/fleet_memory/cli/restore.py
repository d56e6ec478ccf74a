"""`fleet-memory restore`: list the archive of --program, or bring back one of its lessons or
notes.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Final, cast

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, print_answer
from fleet_memory.cli.settings_flags import OWN_MEMORY
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import existing_program
from fleet_memory.jobs.restoration import ArchiveRow, list_archive, restore_archived
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory restore --program basher"
USES: Final = OWN_MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="of the archive, or the lesson's or note's own"
    )
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """List the archive, or restore from it and print the restored item; 1 when there is no room for
    it.
    """
    program = settings.program
    if program is None:
        raise InvalidArgumentError("--program: required; whose archive is it?")
    if given.id is None:
        archive = with_memory(settings, lambda fleet: _archive(fleet, program))
        lines = [
            f"{row['id']}  {str(row['at'])[:10]} {row['reason']}: {row['text']}" for row in archive
        ]
        text = "\n".join(lines) or f"nothing of {program} is in the archive"
        print_answer({"programId": program, "archive": archive}, text, as_json=given.json)
        return 0
    restored = with_memory(settings, lambda fleet: restore_archived(fleet, program, given.id))
    print_answer({"programId": program, **restored}, _report(program, restored), as_json=given.json)
    return 0 if restored["restored"] else EXIT_NO


async def _archive(fleet: Fleet, program_id: str) -> list[ArchiveRow]:
    """Return the archive of a program, also a deleted one. Raises UnknownProgramError."""
    archive = await list_archive(fleet, program_id)
    if not archive:
        await existing_program(fleet, program_id)
    return archive


def _report(program: str, restored: ArchiveRow) -> str:
    """Return e.g. "basher has n7 again", with what follows from it, or why not."""
    item = restored.get("patternId") or restored.get("noteId")
    if not restored["restored"]:
        return f"{item} was not restored: {restored['reason']}"
    was = f" (it was {restored['was']})" if "was" in restored else ""
    evicted = cast("Sequence[Mapping[str, object]]", restored.get("evicted", ()))
    return "\n".join(
        [
            f"{program} has {item} again{was}",
            *([str(restored["fades"])] if "fades" in restored else []),
            *(f"left for it: {lesson['id']}: {lesson['pattern']}" for lesson in evicted),
        ]
    )
