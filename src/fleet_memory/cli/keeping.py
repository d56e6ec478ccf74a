"""Keep a memory: `maintain`, `export`, `backup` and `import`."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, get_args

import anyio

from fleet_memory.cli.arguments import DRY_RUN, Actions, argument, flag
from fleet_memory.cli.memory import in_memory, is_there, require_memory
from fleet_memory.cli.printing import (
    Output,
    agreed,
    complain,
    flush_output,
    limited,
    progress,
    require_stdout,
    say,
    stdin_text,
    with_consent,
)
from fleet_memory.clients.identity import program_of, user_state
from fleet_memory.clock import clock
from fleet_memory.demo.player import throw_away
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.extensions import names
from fleet_memory.fleet import Fleet
from fleet_memory.importing import import_foreign, read_foreign
from fleet_memory.importing.notes import NOTE_ENDS, is_note
from fleet_memory.importing.texts import LeftOutKind
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.transfer.files import (
    export_text,
    parsed_file,
    read_bytes,
    require_room,
    write_whole,
)
from fleet_memory.jobs.transfer.merging import import_memory
from fleet_memory.jobs.transfer.reading import exported_memory
from fleet_memory.rules.health import fleet_advice
from fleet_memory.server.composition import caller_of_process, copy_file, with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.shared import fleet_judging
from fleet_memory.whole_files import draft_beside

STD: Final = "-"  # in place of a file


async def maintain_now(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Maintain the fleet once."""
    # a bound server does the same, and shows nothing of it: this names lessons
    fleet.caller.require_curation()
    step = progress("maintenance")

    async def report(finished: float, total: float, _message: str) -> None:
        step(int(finished), int(total))

    fleet = replace(fleet, max_programs_read=None)
    run = await maintain_fleet(fleet, report, rebuild=given.rebuild, dry_run=given.dry_run)
    wire = run.wire()
    judging = await fleet_judging(fleet, await fleet.programs.count())
    first = {"dryRun": given.dry_run, "advice": fleet_advice(judging)}
    return limited({**first, **wire, **({"judging": judging} if judging else {})})


def run_export(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Write the fleet's memory; 1 for an empty one, and then nothing is written."""
    require_memory(settings)
    file = None if given.file == STD else Path(given.file)
    if file is None:
        require_stdout()
    else:
        require_room(file, force=given.force)
    text, count = anyio.run(with_fleet, settings, export_text)
    if not count:
        complain(f"fleet {settings.fleet} has no memory; nothing was written")
        return EXIT_NO
    if file is not None:
        write_whole(file, text)
        content = {"fleet": settings.fleet, "documents": count, "file": str(file)}
        return Output(content, notes=["Only you can read the file."])
    say(text, end="")
    flush_output()
    complain(f"wrote {count} documents of fleet {settings.fleet}")
    return 0


_SIDES: Final = ("-wal", "-shm", "-journal")  # ends of the names of SQLite's side files


def run_backup(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Copy the store as it is at one moment, while servers use it, tokens' records included; of a
    database elsewhere its fleet's export.
    """
    memory, file = settings.store.file, Path(os.path.realpath(given.file))
    if memory is None:
        return run_export(given, settings)
    if given.file == "-":
        raise InvalidArgumentError("FILE: a backup is a file; `export -` writes to stdout")
    caller_of_process(settings).require_curation()
    require_memory(settings)
    store = os.path.realpath(memory)
    if str(file) in (store, *(f"{store}{end}" for end in _SIDES)):
        raise InvalidArgumentError(f"FILE: {file.name} is of the store itself; give another name")
    require_room(file, force=given.force)
    for end in _SIDES:  # SQLite would take them for those of the new file
        if os.path.lexists(f"{file}{end}"):
            raise InvalidArgumentError(
                f"FILE: {file.name}{end} is beside it: that store is open, or a process of it was "
                "killed; give another name"
            )
    try:
        with draft_beside(file, b"") as draft:
            anyio.run(copy_file, memory, draft)
            with draft.open("rb+") as copied:
                os.fsync(copied.fileno())
            draft.replace(file)
    except OSError as error:
        raise InvalidArgumentError(
            f"FILE: {file.name} cannot be written: {error.strerror}"
        ) from error
    content = {"store": str(memory), "file": str(file), "bytes": file.stat().st_size}
    return Output(content, notes=["Only you can read the file. It is a store: --store FILE."])


_LEFT: Final = {  # parts of a file that are not in use now, and how to have them
    "archived": "archived: over the cap, or another text of a later lesson",
    "left": "left: gone from this memory since; --overwrite brings them back",
    "rules": "rules: people set them in that fleet; --policy makes them rules here",
}


def run_import(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Merge the file of `export` into the store, or store lessons of notes and other memories; 1
    when something of an export is not in use now, or there was no lesson.
    """
    caller_of_process(settings).require_curation()
    places = [Path(name) for name in given.files]
    if given.source or all(map(is_note, places)):
        return _import_foreign(given, settings, places)
    if given.dry_run or given.program or len(places) > 1:
        raise InvalidArgumentError(
            "FILE: an export is imported alone, without --program and --dry-run; notes end in "
            f"{', '.join(NOTE_ENDS)}, and --from reads another program's memory"
        )
    is_std = given.files == [STD]
    content = stdin_text("FILE").encode() if is_std else read_bytes(places[0])
    memory = exported_memory(parsed_file(content), clock(settings.now)())
    source = memory.fleet
    question = f"The file is of fleet {source}, and goes into fleet {settings.fleet}. Import it?"
    if source != settings.fleet and not given.yes and not agreed(question):
        return EXIT_NO
    how = {"overwrite": given.overwrite, "with_policy": given.policy}
    importing = partial(import_memory, memory=memory, **how)
    merged = anyio.run(with_fleet, settings, importing)
    wire = merged._asdict()
    notes = [said for name, said in _LEFT.items() if wire[name]]
    if given.policy and memory.policy is None and not memory.rules:
        notes.append("--policy: the file has no policy and no rules; those of this fleet stay.")
    lists = {name: wire.pop(name) for name in _LEFT}
    output = limited(wire | {name: items for name, items in lists.items() if items})
    return output._replace(notes=notes, code=0 if merged.is_complete else EXIT_NO)


def _import_foreign(
    given: argparse.Namespace, settings: Settings, places: Sequence[Path]
) -> Output | int:
    """Show the lessons, ask, and store them as those of one program."""
    if given.overwrite or given.policy:
        raise InvalidArgumentError("--overwrite, --policy: they go with a file of `export`")
    memory = read_foreign(given.source or "notes", *places)
    state = user_state(is_read_only=given.dry_run)
    program = given.program or program_of(settings, {}, state)

    def imported(*, dry_run: bool) -> Output:
        work = partial(import_foreign, memory=memory, program_id=program, dry_run=dry_run)
        with throw_away(settings) as empty:  # a preview creates no memory
            place = empty if dry_run and not is_there(settings.store) else settings
            done = anyio.run(with_fleet, place, work)
        order = get_args(LeftOutKind)
        left_out = sorted(done.left_out, key=lambda part: order.index(part.kind))
        content = {
            "dryRun": dry_run,
            "programId": program,
            "new": len(done.new),
            "unchanged": done.unchanged,
            "faded": done.faded,
            "lessons": [
                {"place": each.place, "domain": each.pattern.domain, "text": each.pattern.pattern}
                for each in done.new
            ],
            "leftOutCounts": Counter(part.kind for part in left_out),
            "leftOut": [part._asdict() for part in left_out],
        }
        return limited(content)._replace(code=0 if done.new or done.unchanged else EXIT_NO)

    preview = imported(dry_run=True)
    if not preview.content["new"]:
        return preview
    return with_consent(given, preview, "Import these lessons?", partial(imported, dry_run=False))


_FROM: Final = "what the files are: notes (Markdown), or the memory of another program"
_FILE: Final = argument("file", "FILE", "the file to write")
_FORCE: Final = flag("--force", "replace the file if it exists")
ACTIONS: Final[Actions] = {
    "maintain": (
        in_memory(maintain_now),
        DRY_RUN,
        flag("--rebuild", "compare every lesson anew, with vectors of this embedder"),
    ),
    "export": (
        run_export,
        argument("file", "FILE.jsonl", "the file to write; - for stdout"),
        _FORCE,
    ),
    "backup": (run_backup, _FILE, _FORCE),
    "import": (
        run_import,
        argument("files", "FILE", "of `export`, - for stdin; or notes and folders", nargs="+"),
        argument("--from", None, _FROM, dest="source", choices=names("importers")),
        argument("--program", "PROGRAM", "of notes: whose lessons they become (default: here)"),
        DRY_RUN,
        flag("--overwrite", "lessons that left since come back"),
        flag("--policy", "set its policy and rules too, and release what people released"),
        flag("--yes", "do not ask before lessons of notes, or for the file of another fleet"),
    ),
}
