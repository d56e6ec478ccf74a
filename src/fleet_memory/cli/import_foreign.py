"""`fleet-memory import --from SOURCE`: lessons from the memory of another program."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, get_args

import anyio

from fleet_memory.cli.printing import print_answer
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.importing import SOURCES, ImportedForeign, import_foreign, read_foreign
from fleet_memory.importing.texts import ForeignLesson, LeftOut, LeftOutKind
from fleet_memory.server.composition import caller_of_process, with_fleet
from fleet_memory.settings import Settings

MAX_LEFT_OUT_NAMED: Final = 25  # parts that became no lesson; the others are counted
MAX_EXAMPLES: Final = 5  # lessons that are shown


def add_foreign(parser: argparse.ArgumentParser) -> None:
    """Define the flags; --program names who takes the lessons, not the caller."""
    parser.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        choices=SOURCES,
        help=f"FILE is a memory of {', '.join(SOURCES)}: its texts become lessons",
    )
    parser.add_argument("--program", metavar="PROGRAM", help="with --from: takes all lessons")
    parser.add_argument(
        "--origin",
        metavar="NAME",
        help="with --from: whose memory it is; those of two names are two origins",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --from: show what would come and do nothing"
    )


def run_foreign(given: argparse.Namespace, settings: Settings) -> int:
    """Store the lessons and print how many came, and the texts that became none."""
    caller_of_process(settings).require_curation()
    memory = read_foreign(given.source, Path(given.file), given.origin)
    with progress_bar("lessons") as step:

        async def import_(fleet: Fleet) -> ImportedForeign:
            return await import_foreign(
                fleet, memory, given.program, dry_run=given.dry_run, step=step
            )

        imported = anyio.run(with_fleet, settings, import_)
    content = {
        "fleet": settings.fleet,
        "source": given.source,
        "origin": given.origin,
        "dryRun": given.dry_run,
        **_content(imported),
    }
    lines = _lines(imported, dry_run=given.dry_run)
    if given.program is None and any(imported.new.values()):
        lines.append(
            "Only an agent of that name recalls them until they are shared; --program gives "
            "them to yours."
        )
    print_answer(content, "\n".join(lines), as_json=given.json)
    return 0


def require_import_flags(given: argparse.Namespace) -> None:
    """Raise InvalidArgumentError for a flag of `--from` without it."""
    flags = {"--dry-run": given.dry_run, "--program": given.program, "--origin": given.origin}
    if not given.source and (
        alone := next((flag for flag, value in flags.items() if value not in (None, False)), None)
    ):
        raise InvalidArgumentError(f"{alone}: goes with --from")


def _content(imported: ImportedForeign) -> Mapping[str, object]:
    left_out = _ordered(imported.left_out)
    return {
        "new": {name: len(lessons) for name, lessons in sorted(imported.new.items()) if lessons},
        "unchanged": imported.unchanged,
        "faded": imported.faded,
        "archived": imported.archived,
        "examples": [
            {
                "programId": lesson.program_id,
                "domain": lesson.pattern.domain,
                "pattern": lesson.pattern.pattern,
            }
            for lesson in _examples(imported)
        ],
        "leftOut": [part._asdict() for part in left_out[:MAX_LEFT_OUT_NAMED]],
        "leftOutCounts": dict(Counter(part.kind for part in left_out)),
    }


def _examples(imported: ImportedForeign) -> list[ForeignLesson]:
    return [lesson for lessons in imported.new.values() for lesson in lessons][:MAX_EXAMPLES]


def _ordered(left_out: Sequence[LeftOut]) -> list[LeftOut]:
    order = get_args(LeftOutKind)
    return sorted(left_out, key=lambda part: order.index(part.kind))


def _lines(imported: ImportedForeign, *, dry_run: bool) -> list[str]:
    lines = [
        f"{name}: {_counted(len(lessons), 'lesson')} {'would come' if dry_run else 'came'}"
        for name, lessons in sorted(imported.new.items())
        if lessons
    ] or ["No new lesson."]
    lines += [
        f"  {lesson.program_id}, {lesson.pattern.domain}: {lesson.pattern.pattern}"
        for lesson in _examples(imported)
    ]
    if imported.unchanged:
        lines.append(f"There before, and as they were: {imported.unchanged}")
    if imported.faded:
        lines.append(f"So old that only a recall with includeStale shows them: {imported.faded}")
    if imported.archived:
        lines.append(f"Moved to the archive, for want of room: {imported.archived}")
    left_out = _ordered(imported.left_out)
    if left_out:
        counts = ", ".join(
            f"{kind} {count}" for kind, count in Counter(part.kind for part in left_out).items()
        )
        lines.append(f"{_counted(len(left_out), 'part')} became no lesson ({counts}):")
        lines += [
            f"  {part.place}: {part.kind}: {part.why}" for part in left_out[:MAX_LEFT_OUT_NAMED]
        ]
    if more := left_out[MAX_LEFT_OUT_NAMED:]:
        lines.append(f"  and {len(more)} more")
    return lines


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
