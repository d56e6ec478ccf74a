"""Change knowledge: `retire`, `reinstate`, `reword`, `split`, `seed`, `lesson`, `restore`."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import anyio

from fleet_memory.cli.existing import lesson_named, with_memory
from fleet_memory.cli.printing import agreed, complain, print_answer, say
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import (
    Curated,
    allow_lesson,
    read_seeds,
    reinstate_entry,
    retire_entry,
    reword_entry,
    seed_rules,
    split_entry,
)
from fleet_memory.jobs.looking import existing_program
from fleet_memory.jobs.restoration import ArchiveRow, list_archive, restore_archived
from fleet_memory.rules.curating import Seeding
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings


def add_retire(parser: argparse.ArgumentParser) -> None:
    """Define KEY and --why."""
    parser.add_argument(
        "key", metavar="KEY", help="for example pattern/task-claiming/check-status-before-claiming"
    )
    parser.add_argument(
        "--why", metavar="TEXT", required=True, help="the reason, kept in the entry's history"
    )


def run_retire(given: argparse.Namespace, settings: Settings) -> int:
    """Retire the entry and print its state; 1 when it was retired before."""
    return _curate(given, settings, lambda fleet: retire_entry(fleet, given.key, given.why))


add_reinstate = add_retire


def run_reinstate(given: argparse.Namespace, settings: Settings) -> int:
    """Bring the entry back and print its state; 1 when it was not retired."""
    return _curate(given, settings, lambda fleet: reinstate_entry(fleet, given.key, given.why))


def add_reword(parser: argparse.ArgumentParser) -> None:
    """Define KEY, TEXT and --why."""
    add_retire(parser)
    parser.add_argument("text", metavar="TEXT", help="the new text; key and contributions stay")


def run_reword(given: argparse.Namespace, settings: Settings) -> int:
    """Give the entry another text and print its state; 1 when it had that text before."""
    key, text, why = given.key, given.text, given.why
    return _curate(given, settings, lambda fleet: reword_entry(fleet, key, text, why))


def _curate(
    given: argparse.Namespace, settings: Settings, work: Callable[[Fleet], Awaitable[Curated]]
) -> int:
    curated = with_memory(settings, work)
    already = "" if curated.changed else " already, nothing was changed"
    text = f"{curated.key} is {curated.state}{already}"
    print_answer(curated._asdict(), text, as_json=given.json)
    return 0 if curated.changed else EXIT_NO


def add_lesson(parser: argparse.ArgumentParser) -> None:
    """Define the verb, the lesson and --why."""
    parser.add_argument("verb", choices=["allow"], help="let agents judge and read it")
    parser.add_argument("name", metavar="PROGRAM/ID", help="the lesson")
    parser.add_argument("--why", metavar="TEXT", required=True, help="the reason, kept in the log")


def run_lesson(given: argparse.Namespace, settings: Settings) -> int:
    """Release the lesson; 1 when it was released before."""
    program, lesson_id = lesson_named(given.name, settings)
    changed = with_memory(
        settings, lambda fleet: allow_lesson(fleet, program, lesson_id, given.why)
    ).changed
    text = f"{program}/{lesson_id} is released" + ("" if changed else " already")
    print_answer({"programId": program, "id": lesson_id}, text, as_json=given.json)
    return 0 if changed else EXIT_NO


def add_split(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments; --program is the contributor here, not the caller."""
    add_retire(parser)
    parser.add_argument(
        "--program", metavar="PROGRAM", required=True, help="whose contribution it is"
    )
    parser.add_argument(
        "--pattern", metavar="ID", help="which of its lessons, where it contributes several"
    )


def run_split(given: argparse.Namespace, settings: Settings) -> int:
    """Take the contribution out and print the entry's state."""
    split = with_memory(
        settings,
        lambda fleet: split_entry(fleet, given.key, given.program, given.pattern, given.why),
    )
    text = f"{split.key} is {split.state}"
    print_answer(split._asdict(), text, as_json=given.json)
    return 0


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="TOML, or JSON by its suffix; see "
        "https://github.com/fleet-memory/fleet-memory/blob/main/docs/knowledge.md",
    )
    parser.add_argument(
        "--prune", action="store_true", help="retire rules that the file does not have"
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not ask, also before one rule takes another's place"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change and do nothing"
    )


def run_seed(given: argparse.Namespace, settings: Settings) -> int:
    """Show the changes, ask, and set the rules; with --yes or --json print them last: no closed
    pipe stops it.
    """
    wanted = read_seeds(Path(given.file))

    async def seed(fleet: Fleet, *, dry_run: bool) -> Seeding:
        return await seed_rules(fleet, wanted, prune=given.prune, dry_run=dry_run)

    preview = partial(seed, dry_run=True)
    if given.dry_run:
        plan = with_memory(settings, preview)
    else:
        plan = anyio.run(with_fleet, settings, preview)
    content, text = {"dryRun": given.dry_run, **plan.keys()}, "\n".join(_lines(plan))
    if given.dry_run or not (plan.added or plan.changed or plan.retired):
        print_answer(content, text, as_json=given.json)
        return 0
    if not given.yes:
        (complain if given.json else say)(text)
        if not agreed():
            return EXIT_NO
    anyio.run(with_fleet, settings, partial(seed, dry_run=False))
    if given.yes or given.json:
        print_answer(content, text, as_json=given.json)
    sys.stderr.write("Every agent reads it at its next boot.\n")
    return 0


def _lines(plan: Seeding) -> Iterator[str]:
    for key, seed in sorted(plan.added.items()):
        yield f"+ {key}: {seed.text}"
    for key, seed in sorted(plan.changed.items()):
        yield f"~ {key}: {seed.text}"
        if plan.earlier[key] != seed.text:
            yield f"  was: {plan.earlier[key]}"
    for key in plan.retired:
        yield f"- {key}"
    for key in plan.kept:
        yield f"  {key} is not in the file and stays; --prune retires it"
    yield f"{len(plan.unchanged)} unchanged"


def add_restore(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="of the archive, or the lesson's or note's own"
    )


def run_restore(given: argparse.Namespace, settings: Settings) -> int:
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
            *(f"left for it: {lesson['id']}: {lesson['pattern']}" for lesson in evicted),
        ]
    )
