"""Take memory out: `delete-program` into the archive, `purge` for good."""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import (
    agreed,
    complain,
    limited_lines,
    print_answer,
    with_omitted,
)
from fleet_memory.clients.identity import user_state
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.jobs.deletion import Deleted, delete_program, preview_deletion
from fleet_memory.jobs.erasing import Erased, Wanted, erase, preview_erasure
from fleet_memory.jobs.words import KEY_PREFIXES
from fleet_memory.rules.text import counted
from fleet_memory.settings import Settings
from fleet_memory.tools.shared import MAX_OF_A_KIND


def add_delete_program(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "name", metavar="PROGRAM", help="what it contributed to shared knowledge stays, marked"
    )
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
    """Print the result, or its preview, with at most 25 names of a kind."""
    keys, beside = deleted.entries, deleted.beside
    lines = [
        f"{deleted.program_id}: {'would archive' if given.dry_run else 'archived'} "
        f"{counted(deleted.patterns, 'lesson')}, {counted(deleted.notes, 'note')}"
    ]
    lines += [f"{counted(deleted.tokens, 'token')} of it: revoked"] if deleted.tokens else []
    if keys:
        keep = counted(len(keys), "entry keeps", "entries keep")
        lines += [f"{keep} its contribution, marked:", *limited_lines(keys, MAX_OF_A_KIND)]
    lines += [f"{_BESIDE}:", *limited_lines(beside, MAX_OF_A_KIND)] if beside else []
    wire = {
        **({"dryRun": True} if given.dry_run else {}),
        "programId": deleted.program_id,
        "archivedPatterns": deleted.patterns,
        "archivedNotes": deleted.notes,
        **({"revokedTokens": deleted.tokens} if deleted.tokens else {}),
        "entriesThatKeepIt": list(keys[:MAX_OF_A_KIND]),
        **({"otherSpellings": list(beside[:MAX_OF_A_KIND])} if beside else {}),
    }
    more = max(0, len(keys) - MAX_OF_A_KIND)
    others = max(0, len(beside) - MAX_OF_A_KIND)
    content = with_omitted(wire, entriesThatKeepIt=more, otherSpellings=others)
    print_answer(content, "\n".join(lines), as_json=given.json)


_BESIDE: Final = "programs of another spelling, and subagents of it, which stay"
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
        help="an entry or one lesson, as `show` takes it",
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
    parser.add_argument("--pattern", metavar="ID", help="of --program: this lesson alone")
    parser.add_argument("--entry", metavar="KEY", help="an entry, and the lessons of its words")
    parser.add_argument("--why", metavar="TEXT", default="", help="the reason, kept in the ledger")
    parser.add_argument(
        "--show", action="store_true", help="show the texts of lessons that go, too"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be erased and do nothing"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_purge(given: argparse.Namespace, settings: Settings) -> int:
    """Show what goes, ask, erase it, and say what is left; 1 when something is, or nothing was
    there to erase.
    """
    wanted = _wanted(given)
    preview = with_memory(settings, lambda fleet: preview_erasure(fleet, wanted))
    if preview.is_empty and wanted.pattern is None and "/" in (wanted.program or ""):
        complain(f"one lesson: fleet-memory purge {wanted.program}")
    if given.dry_run:
        _print(preview, "would erase", given)
        return EXIT_NO if preview.is_empty else 0
    if not given.yes:
        complain(_purge_report(preview, "would erase", shows=given.show))
        if not agreed("Erase this for good? Nothing brings it back."):
            return EXIT_NO
    erased = with_memory(settings, lambda fleet: erase(fleet, wanted))
    if given.program is not None and given.pattern is None:
        user_state().forget_program(given.program)
    _print(erased, "erased", given)
    if not erased.is_scrubbed:
        complain(_NOT_SCRUBBED)
    return 0 if erased.is_scrubbed and not (erased.is_empty or erased.left) else EXIT_NO


def _wanted(given: argparse.Namespace) -> Wanted:
    """Return the wish. Raises InvalidArgumentError for a name without its program, and for one with
    flags.
    """
    text = (
        sys.stdin.read().strip() if given.text == "-" else given.text
    )  # there it is in no shell's history
    flags = Wanted(text, given.program, given.pattern, given.entry, given.why)
    if given.name is None:
        return flags
    if flags != Wanted(why=given.why):
        raise InvalidArgumentError(
            "KEY|PROGRAM/ID: stands alone, without --text, --program, --pattern or --entry"
        )
    if given.name.startswith(KEY_PREFIXES):
        return flags._replace(entry=given.name)
    program, _, pattern = given.name.rpartition("/")
    if not program:
        raise InvalidArgumentError("KEY|PROGRAM/ID: whose lesson? Keys begin with pattern/")
    return flags._replace(program=program, pattern=pattern)


def _print(erased: Erased, verb: str, given: argparse.Namespace) -> None:
    wire = _purge_wire(erased, shows=given.show)
    content = {"dryRun": True, **wire} if given.dry_run else wire
    print_answer(content, _purge_report(erased, verb, shows=given.show), as_json=given.json)


def _purge_report(erased: Erased, verb: str, *, shows: bool) -> str:
    """Return the result as lines, at most 25 of a kind."""
    lines = [] if not erased.is_empty else ["nothing in this memory holds it"]
    for title, names in (
        (verb, erased.sums()),
        ("still there", erased.left),
        (_BESIDE, erased.alike),
        ("texts", erased.texts if shows else ()),
    ):
        lines += [f"{title}:", *limited_lines(names, MAX_OF_A_KIND)] if names else []
    return "\n".join(lines)


def _purge_wire(erased: Erased, *, shows: bool) -> dict[str, object]:
    """Return the result as JSON, at most 25 of a kind; `omitted` counts the others."""
    named: dict[str, Sequence[str]] = {"left": erased.left}
    named |= {"otherSpellings": erased.alike} if erased.alike else {}
    named |= {"texts": erased.texts} if shows else {}
    lessons = {"lessons": erased.lessons} if erased.lessons else {}
    wire: dict[str, object] = {"erased": {**lessons, **erased.gone}, "changed": erased.changed}
    wire |= {name: list(names[:MAX_OF_A_KIND]) for name, names in named.items()}
    omitted = {name: max(0, len(names) - MAX_OF_A_KIND) for name, names in named.items()}
    return with_omitted({**wire, "scrubbed": erased.is_scrubbed}, **omitted)
