"""Move a memory: `export` to a file, `import` from one or from another program's memory."""

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, get_args

import anyio
from anyio import to_thread

from fleet_memory.cli.printing import (
    add_json_flag,
    agreed,
    complain,
    flush_output,
    print_answer,
    require_stdout,
    say,
)
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.clock import clock
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.importing import SOURCES, ImportedForeign, import_foreign, read_foreign
from fleet_memory.importing.texts import ForeignLesson, LeftOut, LeftOutKind
from fleet_memory.jobs.memory_files import INDEX_NAME, export_memory_files
from fleet_memory.jobs.transfer.files import (
    export_text,
    parsed_file,
    read_bytes,
    require_room,
    write_whole,
)
from fleet_memory.jobs.transfer.merging import Merged, import_memory
from fleet_memory.jobs.transfer.reading import ExportedMemory, exported_memory
from fleet_memory.server.composition import caller_of_process, with_fleet
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile


def add_memory_dir(parser: argparse.ArgumentParser) -> None:
    """Define the flag, and --program, which names whose lessons are files too and not the
    caller.
    """
    parser.add_argument(
        "--memory-dir",
        metavar="DIR",
        help="write the knowledge as Markdown files instead",
    )
    parser.add_argument(
        "--program", metavar="PROGRAM", help="with --memory-dir: this program's lessons too"
    )


def run_memory_dir(given: argparse.Namespace, settings: Settings) -> int:
    """Write the files and print how many there are; 1 for a memory that is not there or has
    nothing.
    """
    if given.file is not None:
        raise InvalidArgumentError("--memory-dir: give it or FILE.jsonl, not both")
    if isinstance(settings.store, SqliteFile) and not settings.store.path.exists():
        complain(f"there is no memory at {settings.store.path}; nothing was written")
        return EXIT_NO
    folder = Path(given.memory_dir)
    written = anyio.run(
        with_fleet, settings, lambda fleet: export_memory_files(fleet, folder, given.program)
    )
    if written is None:
        complain(f"fleet {settings.fleet} has no memory; nothing was written")
        return EXIT_NO
    count = written.entries + written.lessons
    text = (
        f"{count} statements and {INDEX_NAME} in {folder}: "
        f"{written.written} files written, {written.unchanged} unchanged, {written.removed} removed"
    )
    print_answer(written._asdict(), text, as_json=given.json)
    return 0


STDOUT: Final = "-"


class _Export(NamedTuple):
    """The text of a file, and how many documents it has."""

    text: str
    documents: int


def add_export(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "file", metavar="FILE.jsonl", nargs="?", help="the file to write; - for stdout"
    )
    add_memory_dir(parser)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument(
        "--allow-empty",
        action="store_true",
        help="write the file of a fleet that has no memory too",
    )
    add_json_flag(parser)


def run_export(given: argparse.Namespace, settings: Settings) -> int:
    """Write the file and print how many documents it has; 1 without any, and then nothing is
    written.
    """
    if given.memory_dir is not None:
        return run_memory_dir(given, settings)
    if given.file is None or given.program is not None:
        raise InvalidArgumentError("FILE: required; or --memory-dir DIR, with which --program goes")
    return _run(given, settings)


def _run(given: argparse.Namespace, settings: Settings) -> int:
    if isinstance(settings.store, SqliteFile) and not settings.store.path.exists():
        complain(f"there is no memory at {settings.store.path}; nothing was written")
        return EXIT_NO
    file = None if given.file == STDOUT else Path(given.file)
    if file is None:
        require_stdout()
    else:
        require_room(file, force=given.force)
    content = _exported(settings, file, allow_empty=given.allow_empty)
    if not content.documents and not given.allow_empty:
        complain(
            f"fleet {settings.fleet} has no memory; nothing was written (--allow-empty writes "
            "it all the same)"
        )
        return EXIT_NO
    if file is None:
        say(content.text, end="")
        flush_output()
        complain(f"wrote {content.documents} documents of fleet {settings.fleet}")
    else:
        answer = {"fleet": settings.fleet, "documents": content.documents, "file": str(file)}
        text = (
            f"Wrote {content.documents} documents of fleet {settings.fleet} to {file}, which only "
            "you can read."
        )
        print_answer(answer, text, as_json=given.json)
    return 0


def _exported(settings: Settings, file: Path | None, *, allow_empty: bool) -> _Export:
    """Return the content of the fleet, written to the file if there is one."""
    with progress_bar("collections") as step:

        async def export(fleet: Fleet) -> _Export:
            content = _Export(*await export_text(fleet, step))
            if file is not None and (content.documents or allow_empty):
                await to_thread.run_sync(partial(write_whole, file, content.text))
            return content

        return anyio.run(with_fleet, settings, export)


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
    lines = _import_foreign_lines(imported, dry_run=given.dry_run)
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


def _import_foreign_lines(imported: ImportedForeign, *, dry_run: bool) -> list[str]:
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


STDIN: Final = "-"
_DIVERGENT: Final = (
    "have another text here; the other one is in the archive, an entry of its own, "
    "or a rewording that --overwrite takes over"
)
_MAX_NAMED: Final = 25  # lessons and entries of a kind that the text names; --json has all of them


def add_import(parser: argparse.ArgumentParser) -> None:
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


def run_import(given: argparse.Namespace, settings: Settings) -> int:
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
    print_answer(merged._asdict(), "\n".join(_import_lines(merged)), as_json=given.json)
    return 0 if merged.is_complete else EXIT_NO


def _merged(memory: ExportedMemory, given: argparse.Namespace, settings: Settings) -> Merged:
    with progress_bar("documents") as step:

        async def import_(fleet: Fleet) -> Merged:
            return await import_memory(
                fleet, memory, overwrite=given.overwrite, with_policy=given.policy, step=step
            )

        return anyio.run(with_fleet, settings, import_)


def _import_lines(merged: Merged) -> list[str]:
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
