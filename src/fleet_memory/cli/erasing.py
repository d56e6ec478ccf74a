"""Take memory out: `delete-program` into the archive, `purge` for good."""

import argparse
import sys
from collections.abc import Iterator, Sequence
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
_CHANGES: Final = {"would erase": "would change", "erased": "changed"}
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
    wire = _purge_wire(erased, shows=given.show)
    content = {"dryRun": True, **wire} if given.dry_run else wire
    print_answer(content, _purge_report(erased, verb, shows=given.show), as_json=given.json)


def _purge_report(erased: Erased, verb: str, *, shows: bool) -> str:
    """Return the result as lines, at most 25 of a kind."""
    lines = [] if erased.documents else ["nothing in this memory holds it"]
    for title, names in (
        (verb, [*_lines(erased.found.gone, "all of ")]),
        (_CHANGES[verb], [*_lines(erased.found.changed)]),
        ("still there", erased.left),
        (_BESIDE, erased.alike),
        ("texts", erased.texts if shows else ()),
    ):
        lines += [f"{title}:", *limited_lines(names, MAX_OF_A_KIND)] if names else []
    return "\n".join(lines)


def _lines(findings: Found, whole: str = "") -> Iterator[str]:
    """Yield e.g. "2 lessons of iso: use-wal, use-mmap", "entry pattern/ops/x: loses its texts of
    sark".
    """
    yield from (f"{whole}{name}: {counts}" for name, counts in findings.programs.items())
    ids: dict[str, list[str]] = {}
    for name in sorted(findings.lessons):
        program_id, _, id_ = name.rpartition("/")
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
    if sums := findings.other_sums():
        yield ", ".join(sums)


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
    named = {
        f"{part}.{kind}": names for part, kinds in parts.items() for kind, names in kinds.items()
    } | lists
    omitted = {name: max(0, len(names) - MAX_OF_A_KIND) for name, names in named.items()}
    wire: dict[str, object] = {
        part: {
            **{kind: names[:MAX_OF_A_KIND] for kind, names in kinds.items() if names},
            **+others,
        }
        for (part, kinds), others in zip(parts.items(), (gone.others, changed.others), strict=True)
    }
    wire |= {name: list(names[:MAX_OF_A_KIND]) for name, names in lists.items()}
    return with_omitted({**wire, "scrubbed": erased.is_scrubbed}, **omitted)
