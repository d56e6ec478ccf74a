"""Take memory out: `delete-program` into the archive, `purge` for good."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, agreed, complain, print_answer
from fleet_memory.clients.identity import user_state
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.jobs.deletion import Deleted, delete_program, preview_deletion
from fleet_memory.jobs.erasing import Erased, Found, Wanted, erase, preview_erasure
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
    add_json_flag(parser)


def run_delete_program(given: argparse.Namespace, settings: Settings) -> int:
    """Show the items to delete, ask, delete the program and print the result."""
    preview = with_memory(settings, lambda fleet: preview_deletion(fleet, given.name))
    if given.dry_run:
        print_answer(
            {"dryRun": True, **_delete_program_wire(preview)},
            _delete_program_report(preview, "would archive"),
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
    print_answer(
        _delete_program_wire(deleted),
        _delete_program_report(deleted, "archived"),
        as_json=given.json,
    )
    return 0


def _delete_program_report(deleted: Deleted, verb: str) -> str:
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


def _delete_program_wire(deleted: Deleted) -> dict[str, object]:
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


_CHANGES: Final = {"would erase": "would change", "erased": "changed"}
_NOT_SCRUBBED: Final = (
    "another process keeps the memory file in use, so that what was erased may still lie in "
    "its free space: "
    "stop the servers that use it and run this again"
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
    add_json_flag(parser)


def run_purge(given: argparse.Namespace, settings: Settings) -> int:
    """Show what goes, ask, erase it, and say what is left; 1 when something is, or nothing was
    there to erase.
    """
    wanted = _wanted(given)
    preview = with_memory(settings, lambda fleet: preview_erasure(fleet, wanted))
    if not preview.documents and wanted.pattern is None and "/" in (wanted.program or ""):
        complain(f"one lesson: fleet-memory purge {wanted.program}")
    if given.dry_run:
        _print(preview, "would erase", given)
        return 0 if preview.documents else EXIT_NO
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
    return 0 if erased.documents and erased.is_scrubbed and not erased.left else EXIT_NO


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
    wire = (
        {"dryRun": True, **_purge_wire(erased, shows=given.show)}
        if given.dry_run
        else _purge_wire(erased, shows=given.show)
    )
    print_answer(wire, _purge_report(erased, verb, shows=given.show), as_json=given.json)


def _purge_report(erased: Erased, verb: str, *, shows: bool) -> str:
    """Return the result as lines, at most 25 of a kind."""
    gone, changed = erased.found.gone, erased.found.changed
    lines = [] if erased.documents else ["nothing in this memory holds it"]
    for title, names in (
        (
            verb,
            [
                *_lines(gone, "all of "),
                *([", ".join(gone.other_sums())] if gone.other_sums() else []),
            ],
        ),
        (
            _CHANGES[verb],
            [
                *_lines(changed),
                *([", ".join(changed.other_sums())] if changed.other_sums() else []),
            ],
        ),
        ("still there", list(erased.left)),
        ("programs of another spelling, which stay", list(erased.alike)),
        ("texts", list(erased.texts) if shows else []),
    ):
        more = len(names) - MAX_OF_A_KIND
        lines += [f"{title}:", *(f"  {name}" for name in names[:MAX_OF_A_KIND])] if names else []
        lines += [f"  and {more} more"] if more > 0 else []
    return "\n".join(lines)


def _lines(findings: Found, whole: str = "") -> Iterator[str]:
    """Yield e.g. "2 lessons of iso: use-wal, use-mmap", "entry pattern/ops/x: loses its texts of
    sark".
    """
    yield from (f"{whole}{name}: {counts}" for name, counts in findings.programs.items())
    ids: dict[str, list[str]] = {}
    for name in sorted(findings.lessons):
        program_id, _, id_ = name.partition("/")
        ids.setdefault(program_id, []).append(id_)
    for program_id, some in ids.items():
        more = f" and {len(some) - MAX_OF_A_KIND} more" if len(some) > MAX_OF_A_KIND else ""
        yield (
            f"{counted(len(some), 'lesson')} of {program_id}: "
            f"{', '.join(some[:MAX_OF_A_KIND])}{more}"
        )
    yield from (
        f"entry {key}{f': {change}' if change else ''}" for key, change in findings.entries.items()
    )
    yield from (f"the name {before}: becomes {after}" for before, after in findings.names.items())


def _purge_wire(erased: Erased, *, shows: bool) -> dict[str, object]:
    """Return the result as JSON, at most 25 of a kind; `omitted` counts the others."""
    lists: dict[str, Sequence[object]] = {"left": erased.left}
    if erased.alike:
        lists["otherSpellings"] = erased.alike
    if shows:
        lists["texts"] = erased.texts
    gone, changed = erased.found.gone, erased.found.changed
    parts: dict[str, dict[str, Sequence[object]]] = {
        "erased": {
            "programs": [*gone.programs],
            "lessons": sorted(gone.lessons),
            "entries": [*gone.entries],
        },
        "changed": {
            "lessons": sorted(changed.lessons),
            "entries": [{"key": key, "change": change} for key, change in changed.entries.items()],
            "names": [
                {"before": before, "after": after} for before, after in changed.names.items()
            ],
        },
    }
    counts = {"erased": +gone.others, "changed": +changed.others}
    named = {
        f"{part}.{kind}": names for part, kinds in parts.items() for kind, names in kinds.items()
    } | lists
    omitted = {
        name: len(names) - MAX_OF_A_KIND
        for name, names in named.items()
        if len(names) > MAX_OF_A_KIND
    }
    return {
        **{
            part: {
                **{kind: names[:MAX_OF_A_KIND] for kind, names in kinds.items() if names},
                **counts[part],
            }
            for part, kinds in parts.items()
        },
        **{name: list(names[:MAX_OF_A_KIND]) for name, names in lists.items()},
        "scrubbed": erased.is_scrubbed,
        **({"omitted": omitted} if omitted else {}),
    }
