"""Keep a memory: `maintain`, `export`, `backup` and `import`."""

import argparse
import os
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, get_args

import anyio

from fleet_memory.cli.arguments import DRY_RUN, Actions, argument, flag
from fleet_memory.cli.memory import in_memory, require_memory
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
)
from fleet_memory.clock import clock
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.extensions import names
from fleet_memory.fleet import Fleet
from fleet_memory.importing import import_foreign, read_foreign
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
from fleet_memory.store_address import SqliteFile
from fleet_memory.tools.shared import fleet_judging
from fleet_memory.whole_files import draft_beside

STD: Final = "-"  # in place of a file
_MAX_EXAMPLES: Final = 5  # lessons of another program's memory that are shown


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
    exporting = partial(export_text, step=progress("collections"))
    text, count = anyio.run(with_fleet, settings, exporting)
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
    place, file = settings.store, Path(os.path.realpath(given.file))
    if not isinstance(place, SqliteFile):
        return run_export(given, settings)
    caller_of_process(settings).require_curation()
    require_memory(settings)
    store = os.path.realpath(place.path)
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
            anyio.run(copy_file, place, draft)
            with draft.open("rb+") as copied:
                os.fsync(copied.fileno())
            draft.replace(file)
    except OSError as error:
        raise InvalidArgumentError(
            f"FILE: {file.name} cannot be written: {error.strerror}"
        ) from error
    content = {"store": str(place.path), "file": str(file), "bytes": file.stat().st_size}
    return Output(content, notes=["Only you can read the file. It is a store: --store FILE."])


_FOREIGN: Final = ("dry_run", "program", "origin")  # flags that go with --from
_LEFT: Final = {  # parts of a file that are not in use now, and how to have them
    "archived": "archived: over the cap, or another text of a later lesson",
    "left": "left: gone from this memory since; --overwrite brings them back",
    "rules": "rules: people set them in that fleet; --policy makes them rules here",
}


def run_import(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Merge the file into the store; 1 when something of it is not in use now."""
    caller_of_process(settings).require_curation()
    if given.source:
        return _import_foreign(given, settings)
    for name in _FOREIGN:
        if getattr(given, name) not in (None, False):
            raise InvalidArgumentError(f"--{name.replace('_', '-')}: goes with --from")
    content = stdin_text("FILE").encode() if given.file == STD else read_bytes(Path(given.file))
    memory = exported_memory(parsed_file(content), clock(settings.now)())
    source = memory.incoming.fleet
    question = f"The file is of fleet {source}, and goes into fleet {settings.fleet}. Import it?"
    if source != settings.fleet and not given.yes and not agreed(question):
        return EXIT_NO
    how = {"overwrite": given.overwrite, "with_policy": given.policy}
    importing = partial(import_memory, memory=memory, **how, step=progress("documents"))
    merged = anyio.run(with_fleet, settings, importing)
    wire = merged._asdict()
    notes = [said for name, said in _LEFT.items() if wire[name]]
    if given.policy and memory.incoming.policy is None and not memory.incoming.rules:
        notes.append("--policy: the file has no policy and no rules; those of this fleet stay.")
    lists = {name: wire.pop(name) for name in _LEFT}
    output = limited(wire | {name: items for name, items in lists.items() if items})
    return output._replace(notes=notes, code=0 if merged.is_complete else EXIT_NO)


def _import_foreign(given: argparse.Namespace, settings: Settings) -> Output:
    """Store the lessons of another program's memory."""
    memory = read_foreign(given.source, Path(given.file), given.origin)
    how = {"program_id": given.program, "dry_run": given.dry_run}
    importing = partial(import_foreign, memory=memory, **how, step=progress("lessons"))
    imported = anyio.run(with_fleet, settings, importing)
    new = {name: lessons for name, lessons in sorted(imported.new.items()) if lessons}
    lessons = [each for lessons in new.values() for each in lessons][:_MAX_EXAMPLES]
    examples = [f"{each.pattern.domain}: {each.pattern.pattern}" for each in lessons]
    order = get_args(LeftOutKind)
    left_out = sorted(imported.left_out, key=lambda part: order.index(part.kind))
    content = {
        "dryRun": given.dry_run,
        "new": {name: len(lessons) for name, lessons in new.items()},
        "unchanged": imported.unchanged,
        "faded": imported.faded,
        "archived": imported.archived,
        "examples": examples,
        "leftOutCounts": Counter(part.kind for part in left_out),
        "leftOut": [part._asdict() for part in left_out],
    }
    own = "Only an agent of that name recalls them until they are shared; --program names yours."
    return limited(content)._replace(notes=[own] if given.program is None and new else [])


_FROM: Final = "FILE is a memory of this program: its texts become lessons"
_FILE: Final = argument("file", "FILE", "the file to write")
_FORCE: Final = flag("--force", "replace the file if it exists")
ACTIONS: Final[Actions] = {
    "maintain": (
        in_memory(maintain_now),
        DRY_RUN,
        flag("--rebuild", "make anew what boot reads, and vectors of another embedder"),
    ),
    "export": (
        run_export,
        argument("file", "FILE.jsonl", "the file to write; - for stdout"),
        _FORCE,
    ),
    "backup": (run_backup, _FILE, _FORCE),
    "import": (
        run_import,
        argument("file", "FILE", "of `export`, - for stdin; with --from of another program"),
        argument("--from", None, _FROM, dest="source", choices=names("importers")),
        argument("--program", "PROGRAM", "with --from: takes all lessons"),
        argument("--origin", "NAME", "with --from: whose memory it is; two names, two origins"),
        flag("--dry-run", "with --from: show what would come and do nothing"),
        flag("--overwrite", "lessons that left since come back"),
        flag("--policy", "set its policy and rules too, and release what people released"),
        flag("--yes", "do not ask when the file is of a fleet of another name"),
    ),
}
