"""`fleet-memory delete-program PROGRAM`: archive a program's lessons and notes and remove the
program.
"""

import argparse
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, agreed, print_answer
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.errors import EXIT_NO
from fleet_memory.jobs.deletion import Deleted, delete_program, preview_deletion
from fleet_memory.rules.text.counting import counted
from fleet_memory.settings import Settings
from fleet_memory.views.consolidation import MAX_OF_A_KIND

EXAMPLE: Final = "fleet-memory delete-program basher --dry-run"
USES: Final = MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "name", metavar="PROGRAM", help="what it contributed to shared knowledge stays, marked"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would happen and do nothing"
    )
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Show the items to delete, ask, delete the program and print the result."""
    preview = with_memory(settings, lambda fleet: preview_deletion(fleet, given.name))
    if given.dry_run:
        print_answer(
            {"dryRun": True, **_wire(preview)},
            _report(preview, "would archive"),
            as_json=given.json,
        )
        return 0
    question = (
        f"Delete {given.name} with {counted(preview.patterns, 'lesson')} and "
        f"{counted(preview.notes, 'note')}?"
    )
    if not (given.yes or agreed(question)):
        return EXIT_NO
    deleted = with_memory(settings, lambda fleet: delete_program(fleet, given.name))
    print_answer(_wire(deleted), _report(deleted, "archived"), as_json=given.json)
    return 0


def _report(deleted: Deleted, verb: str) -> str:
    """Return the result as lines, at most 25 entries."""
    keys, more = deleted.entries[:MAX_OF_A_KIND], len(deleted.entries) - MAX_OF_A_KIND
    marked = (
        [
            f"{counted(len(deleted.entries), 'entry keeps', 'entries keep')} its contribution, "
            "marked:"
        ]
        if keys
        else []
    )
    return "\n".join(
        [
            f"{deleted.program_id}: {verb} {counted(deleted.patterns, 'lesson')}, "
            f"{counted(deleted.notes, 'note')}",
            *([f"{counted(deleted.tokens, 'token')} of it: revoked"] if deleted.tokens else []),
            *marked,
            *(f"  {key}" for key in keys),
            *([f"  and {more} more"] if more > 0 else []),
        ]
    )


def _wire(deleted: Deleted) -> dict[str, object]:
    """Return the result as JSON, at most 25 entries; `omitted` counts the others."""
    more = len(deleted.entries) - MAX_OF_A_KIND
    return {
        "programId": deleted.program_id,
        "archivedPatterns": deleted.patterns,
        "archivedNotes": deleted.notes,
        **({"revokedTokens": deleted.tokens} if deleted.tokens else {}),
        "entriesThatKeepIt": list(deleted.entries[:MAX_OF_A_KIND]),
        **({"omitted": {"entriesThatKeepIt": more}} if more > 0 else {}),
    }
