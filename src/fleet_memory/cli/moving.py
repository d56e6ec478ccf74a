"""Move a memory: `export` to a file, `import` from one or from another program's memory."""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Final, get_args

import anyio
from anyio import to_thread

from fleet_memory import extensions
from fleet_memory.cli.existing import is_there
from fleet_memory.cli.printing import (
    agreed,
    complain,
    flush_output,
    limited_lines,
    print_answer,
    require_stdout,
    say,
)
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.clock import clock
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.importing import ImportedForeign, import_foreign, read_foreign
from fleet_memory.importing.texts import LeftOutKind
from fleet_memory.jobs.transfer.files import (
    export_text,
    parsed_file,
    read_bytes,
    require_room,
    write_whole,
)
from fleet_memory.jobs.transfer.merging import Merged, import_memory
from fleet_memory.jobs.transfer.reading import exported_memory
from fleet_memory.rules.text import counted
from fleet_memory.server.composition import caller_of_process, with_fleet
from fleet_memory.settings import Settings

STD: Final = "-"  # in place of a file
_MAX_NAMED: Final = 25  # names and parts of a kind that the text shows; --json has all names
_MAX_EXAMPLES: Final = 5  # lessons of another program's memory that are shown


def add_export(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("file", metavar="FILE.jsonl", help="the file to write; - for stdout")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run_export(given: argparse.Namespace, settings: Settings) -> int:
    """Write the file and print its content; 1 for an empty memory, and then nothing is written."""
    if not is_there(settings.store):
        complain(f"there is no memory at {settings.store[0]}; nothing was written")
        return EXIT_NO
    file = None if given.file == STD else Path(given.file)
    if file is None:
        require_stdout()
    else:
        require_room(file, force=given.force)
    with progress_bar("collections") as step:

        async def export(fleet: Fleet) -> tuple[str, int]:
            text, count = await export_text(fleet, step)
            if file is not None and count:
                await to_thread.run_sync(write_whole, file, text)
            return text, count

        text, count = anyio.run(with_fleet, settings, export)
    if not count:
        complain(f"fleet {settings.fleet} has no memory; nothing was written")
        return EXIT_NO
    if file is None:
        say(text, end="")
        flush_output()
        complain(f"wrote {count} documents of fleet {settings.fleet}")
    else:
        answer = {"fleet": settings.fleet, "documents": count, "file": str(file)}
        wrote = f"Wrote {count} documents of fleet {settings.fleet} to {file}"
        print_answer(answer, f"{wrote}, which only you can read.", as_json=given.json)
    return 0


def add_import(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments; --program names who takes the lessons, not the caller."""
    parser.add_argument(
        "file", metavar="FILE", help="of `export`, - for stdin; with --from of another program"
    )
    sources = extensions.names("importers")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        choices=sources,
        help=f"FILE is a memory of {', '.join(sources)}: its texts become lessons",
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
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="lessons that left since come back",
    )
    parser.add_argument(
        "--policy",
        action="store_true",
        help="also set the policy of the file's fleet and its rules, and release what people "
        "released there",
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not ask when the file is of a fleet of another name"
    )


def run_import(given: argparse.Namespace, settings: Settings) -> int:
    """Merge the file into the store and print the outcome; 1 when something of it is not in use
    now.
    """
    if given.source:
        return _import_foreign(given, settings)
    flags = {"--dry-run": given.dry_run, "--program": given.program, "--origin": given.origin}
    if alone := next((flag for flag, value in flags.items() if value not in (None, False)), None):
        raise InvalidArgumentError(f"{alone}: goes with --from")
    caller_of_process(settings).require_curation()
    content = sys.stdin.buffer.read() if given.file == STD else read_bytes(Path(given.file))
    memory = exported_memory(parsed_file(content), clock(settings.now)())
    source = memory.incoming.fleet
    question = f"The file is of fleet {source}, and goes into fleet {settings.fleet}. Import it?"
    if source != settings.fleet and not given.yes and not agreed(question):
        return EXIT_NO
    with progress_bar("documents") as step:

        async def import_(fleet: Fleet) -> Merged:
            return await import_memory(
                fleet, memory, overwrite=given.overwrite, with_policy=given.policy, step=step
            )

        merged = anyio.run(with_fleet, settings, import_)
    if given.policy and memory.incoming.policy is None and not memory.incoming.rules:
        complain("--policy: the file has no policy and no rules; those of this fleet stay")
    lines = [
        f"Merged fleet {merged.source} into fleet {merged.fleet}: "
        f"{counted(merged.written, 'document')} written."
    ]
    for names, title in (
        (merged.archived, "are in the archive: over the cap, or another text of a later lesson"),
        (
            merged.left,
            "left this memory since and stay in its archive (--overwrite brings them back)",
        ),
        (
            merged.rules,
            "are rules that people set in that fleet, and no rules here (--policy makes them "
            "rules)",
        ),
    ):
        lines += [f"{len(names)} {title}:", *limited_lines(names, _MAX_NAMED)] if names else []
    print_answer(merged._asdict(), "\n".join(lines), as_json=given.json)
    return 0 if merged.is_complete else EXIT_NO


def _import_foreign(given: argparse.Namespace, settings: Settings) -> int:
    """Store the lessons and print how many came, and the texts that became none."""
    caller_of_process(settings).require_curation()
    memory = read_foreign(given.source, Path(given.file), given.origin)
    with progress_bar("lessons") as step:

        async def import_(fleet: Fleet) -> ImportedForeign:
            return await import_foreign(
                fleet, memory, given.program, dry_run=given.dry_run, step=step
            )

        imported = anyio.run(with_fleet, settings, import_)
    new = {name: lessons for name, lessons in sorted(imported.new.items()) if lessons}
    examples = [lesson for lessons in new.values() for lesson in lessons][:_MAX_EXAMPLES]
    order = get_args(LeftOutKind)
    left_out = sorted(imported.left_out, key=lambda part: order.index(part.kind))
    counts = Counter(part.kind for part in left_out)
    content = {
        "fleet": settings.fleet,
        "source": given.source,
        "origin": given.origin,
        "dryRun": given.dry_run,
        "new": {name: len(lessons) for name, lessons in new.items()},
        "unchanged": imported.unchanged,
        "faded": imported.faded,
        "archived": imported.archived,
        "examples": [
            {
                "programId": lesson.program_id,
                "domain": lesson.pattern.domain,
                "pattern": lesson.pattern.pattern,
            }
            for lesson in examples
        ],
        "leftOut": [part._asdict() for part in left_out[:_MAX_NAMED]],
        "leftOutCounts": dict(counts),
    }
    verb = "would come" if given.dry_run else "came"
    lines = [f"{name}: {counted(len(lessons), 'lesson')} {verb}" for name, lessons in new.items()]
    lines = lines or ["No new lesson."]
    lines += [
        f"  {each.program_id}, {each.pattern.domain}: {each.pattern.pattern}" for each in examples
    ]
    for count, title in (
        (imported.unchanged, "There before, and as they were"),
        (imported.faded, "So old that only a recall with includeStale shows them"),
        (imported.archived, "Moved to the archive, for want of room"),
    ):
        lines += [f"{title}: {count}"] if count else []
    if left_out:
        kinds = ", ".join(f"{kind} {count}" for kind, count in counts.items())
        lines.append(f"{counted(len(left_out), 'part')} became no lesson ({kinds}):")
        parts = [f"{part.place}: {part.kind}: {part.why}" for part in left_out]
        lines += limited_lines(parts, _MAX_NAMED)
    if given.program is None and new:
        lines.append(
            "Only an agent of that name recalls them until they are shared; --program gives them "
            "to yours."
        )
    print_answer(content, "\n".join(lines), as_json=given.json)
    return 0
