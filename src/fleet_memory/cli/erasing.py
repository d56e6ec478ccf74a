"""Take memory out: `delete-program` into the archive, `purge` for good."""

import argparse
import sys
from typing import Final

import anyio

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import agreed, complain, field_lines, limited, print_fields
from fleet_memory.clients.hooks import note_showings
from fleet_memory.clients.identity import user_state
from fleet_memory.clients.moments import forget_texts
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.jobs.deletion import Deleted, delete_program, preview_deletion
from fleet_memory.jobs.erasing import Erased, Wanted, erase, preview_erasure
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import KEY_PREFIXES
from fleet_memory.settings import Settings
from fleet_memory.tools.shared import MAX_OF_A_KIND


def add_delete_program(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "name", metavar="PROGRAM", help="what it contributed to shared knowledge stays, marked"
    )
    _add_confirming(parser)


def _add_confirming(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would happen and do nothing"
    )


def run_delete_program(given: argparse.Namespace, settings: Settings) -> int:
    """Show the items to delete, ask, delete the program and print the result."""
    preview = with_memory(settings, lambda fleet: preview_deletion(fleet, given.name))
    if given.dry_run:
        _print_deleted(preview, given)
        return 0
    question = (
        f"Delete {given.name} with {counted(preview.patterns, 'lesson')} and "
        f"{counted(preview.notes, 'note')}?"
    )
    if not (given.yes or agreed(question)):
        return EXIT_NO
    _print_deleted(with_memory(settings, lambda fleet: delete_program(fleet, given.name)), given)
    return 0


def _print_deleted(deleted: Deleted, given: argparse.Namespace) -> None:
    """Print the result, or its preview."""
    more = {"revokedTokens": deleted.tokens, "otherSpellings": list(deleted.beside)}
    content = {
        **({"dryRun": True} if given.dry_run else {}),
        "programId": deleted.program_id,
        "archivedPatterns": deleted.patterns,
        "archivedNotes": deleted.notes,
        "entriesThatKeepIt": list(deleted.entries),
        **{name: value for name, value in more.items() if value},
    }
    title = "dry run, nothing was written" if given.dry_run else f"deleted {deleted.program_id}"
    print_fields(limited(content, MAX_OF_A_KIND), title, as_json=given.json)


_NOT_SCRUBBED: Final = (
    "another process keeps the memory file in use, so that what was erased may still lie in "
    "its free space: stop the servers that use it and run this again"
)


def add_purge(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments; --program is the one to erase here, not the caller."""
    parser.add_argument(
        "name",
        metavar="KEY|PROGRAM/ID",
        nargs="?",
        help="an entry with the lessons of its words, or one lesson, as `show` takes it",
    )
    parser.add_argument(
        "--text",
        metavar="SUBSTRING",
        help="every text with it, in any case and spacing; - reads stdin",
    )
    parser.add_argument(
        "--program",
        metavar="PROGRAM",
        help="its whole memory, and what it gave to shared knowledge",
    )
    parser.add_argument("--why", metavar="TEXT", default="", help="the reason, kept in the ledger")
    parser.add_argument(
        "--show", action="store_true", help="show the texts of lessons that go, too"
    )
    _add_confirming(parser)


def run_purge(given: argparse.Namespace, settings: Settings) -> int:
    """Show what goes, ask, erase it, and say what is left; 1 when something is, or nothing was
    there to erase.
    """
    wanted = _wanted(given)
    preview = with_memory(settings, lambda fleet: preview_erasure(fleet, wanted))
    if preview.is_empty and "/" in (given.program or ""):
        complain(f"one lesson: fleet-memory purge {given.program}")
    content = _content(preview, given)
    if given.dry_run:
        content = {"dryRun": True, **content}
        print_fields(content, "dry run, nothing was written", as_json=given.json)
        return EXIT_NO if preview.is_empty else 0
    if not given.yes:
        complain("\n".join(["this would be:", *field_lines(content)]))
        if not agreed("Erase this for good? Nothing brings it back."):
            return EXIT_NO
    state = user_state()
    forget_texts(state.folder)  # so that no hook shows a lesson of it from now on, and
    anyio.run(note_showings, settings, state)  # none notes one that is erased
    erased = with_memory(settings, lambda fleet: erase(fleet, wanted))
    if given.program is not None:
        state.forget_program(given.program)
    forget_texts(state.folder)  # of a session that began meanwhile
    print_fields(
        {**_content(erased, given), "scrubbed": erased.is_scrubbed}, "done", as_json=given.json
    )
    if not erased.is_scrubbed:
        complain(_NOT_SCRUBBED)
    return 0 if erased.is_scrubbed and not (erased.is_empty or erased.left) else EXIT_NO


def _wanted(given: argparse.Namespace) -> Wanted:
    """Return the wish. Raises InvalidArgumentError unless there is one, of a program if it is a
    lesson.
    """
    # from stdin it is in no shell's history
    text = sys.stdin.read().strip() if given.text == "-" else given.text
    if sum(each is not None for each in (given.name, text, given.program)) != 1:
        raise InvalidArgumentError(
            "KEY|PROGRAM/ID, --text, --program: give one of them, e.g. --text hunter2"
        )
    if given.name is None:
        return Wanted(text, given.program, why=given.why)
    if given.name.startswith(KEY_PREFIXES):
        return Wanted(entry=given.name, why=given.why)
    program, _, pattern = given.name.rpartition("/")
    if not program:
        raise InvalidArgumentError("KEY|PROGRAM/ID: whose lesson? Keys begin with pattern/")
    return Wanted(program=program, pattern=pattern, why=given.why)


def _content(erased: Erased, given: argparse.Namespace) -> dict[str, object]:
    """Return the result, or its preview, as fields."""
    texts = sorted(erased.texts) if given.show else []
    more = {"otherSpellings": list(erased.alike), "texts": texts}
    content = {"erased": +erased.gone, "changed": erased.changed, "left": list(erased.left)}
    more = {name: value for name, value in more.items() if value}
    return limited({**content, **more}, MAX_OF_A_KIND)
