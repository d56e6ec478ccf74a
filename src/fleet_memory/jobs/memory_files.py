"""Writes the fleet's knowledge as Markdown files into a folder, for `fleet-memory export
--memory-dir`.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.entries import entry_state
from fleet_memory.rules.lifecycle.decay import is_stale, strength
from fleet_memory.rules.memory_files import (
    FiledStatement,
    MemoryFile,
    filed_entry,
    filed_lesson,
    index_file,
    is_own_file,
)
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.programs import Program
from fleet_memory.whole_files import draft_beside

READ_ONLY: Final = 0o444
_STATES: Final = ("fresh", "verify", "contested")  # those that agents read


class WrittenFolder(NamedTuple):
    """A folder after an export: its statements, and its files that were written, left as they were
    and removed.
    """

    entries: int
    lessons: int
    written: int
    unchanged: int
    removed: int


async def export_memory_files(
    fleet: Fleet, folder: Path, program_id: str | None
) -> WrittenFolder | None:
    """Write one file for each entry that agents read, for each lesson of `program_id`, and an index
    of them.

    Files of an earlier export whose statement is gone are removed; no other file is touched. A
    fleet without any memory is None, and writes nothing: an address may be mistyped. Billed 1 read
    each entry and page. Raises ForbiddenError unless the caller may curate, InvalidArgumentError
    for a folder that cannot be written or has a file of another source by the name of one of these,
    before anything is written.
    """
    fleet.caller.require_curation()
    now = fleet.now()
    entries = [
        versioned.entry
        for versioned in await fleet.knowledge.all()
        if versioned.entry and entry_state(versioned.entry, now) in _STATES
    ]
    program = await fleet.programs.read_whole(program_id) if program_id else Program(program_id="")
    if program_id and not program.exists:
        raise InvalidArgumentError(f"--program: {program_id} has stored nothing")
    if not entries and not await fleet.programs.count():
        return None
    fleet_id = fleet.programs.paths.fleet_id
    known = [filed_entry(entry, fleet_id, now) for entry in sorted(entries, key=_order)]
    own, more = _own(program, {entry.key for entry in entries}, fleet)
    files = [
        *(statement.file for statement in (*known, *own)),
        index_file([*known, *own], program.program_id, more, fleet_id),
    ]
    written, removed = await to_thread.run_sync(_write_folder, folder, files, fleet_id)
    return WrittenFolder(len(known), len(own), written, len(files) - written, removed)


def _order(entry: Entry) -> tuple[bool, int, float, str]:
    """Return the place of an entry: people's rules first, then those that more agents learnt, and
    are surer of.
    """
    value = entry.value
    return entry.tier != "constitutional", -len(value.contributors), -value.confidence, entry.key


def _own(program: Program, keys: set[str], fleet: Fleet) -> tuple[list[FiledStatement], list[str]]:
    """Return a program's lessons that no entry states, the strongest first, and a line about those
    that faded.
    """
    now = fleet.now()
    lessons = [
        pattern for pattern in program.patterns.values() if pattern.knowledge_key not in keys
    ]
    living = [lesson for lesson in lessons if not is_stale(lesson, now, program.decay)]
    living.sort(key=lambda lesson: (-strength(lesson, now), lesson.id))
    faded = len(lessons) - len(living)
    more = [
        f"{faded} of its lessons were not seen true for {program.decay.max_age} days and are "
        "no files."
    ]
    return [
        filed_lesson(lesson, fleet.programs.paths.fleet_id) for lesson in living
    ], more if faded else []


def _write_folder(folder: Path, files: Sequence[MemoryFile], fleet_id: str) -> tuple[int, int]:
    """Bring a folder up to date, the index last but for the removals; return how many were written
    and removed.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        present = {file.name: file for file in folder.iterdir()}
        names = {file.name for file in files}
        own = {name for name, file in present.items() if _is_own(file, fleet_id)}
        taken = {
            name.casefold() for name in names
        }  # file systems of macOS and Windows know no case
        _require_own(
            folder,
            sorted(name for name in present.keys() - own if name.casefold() in taken),
            fleet_id,
        )
        changed = [
            file for file in files if file.name not in own or _text(present[file.name]) != file.text
        ]
        for file in changed:
            with draft_beside(folder / file.name, file.text.encode(), mode=READ_ONLY) as draft:
                _make_writable(folder / file.name)
                draft.replace(folder / file.name)
        gone = own - names
        for name in gone:
            _make_writable(present[name])
            present[name].unlink()
    except FileExistsError as error:
        raise InvalidArgumentError(f"DIR: {folder.name} is a file; give a folder") from error
    except OSError as error:
        raise InvalidArgumentError(
            f"DIR: {folder.name} cannot be written: {error.strerror}"
        ) from error
    return len(changed), len(gone)


def _require_own(folder: Path, names: Iterable[str], fleet_id: str) -> None:
    if others := list(names):
        raise InvalidArgumentError(
            f"DIR: {folder.name} has {', '.join(others)}, which this command did not write for "
            f"fleet {fleet_id} "
            "and does not replace; give a folder of its own"
        )


def _is_own(file: Path, fleet_id: str) -> bool:
    """Whether an earlier export of this fleet wrote this file; a link is somebody else's."""
    is_markdown = file.suffix == ".md" and not file.is_symlink() and file.is_file()
    return is_markdown and is_own_file(MemoryFile(file.name, _text(file)), fleet_id)


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", errors="replace")


def _make_writable(file: Path) -> None:
    """Let a file be replaced or removed on Windows, which refuses that of a read-only one."""
    if os.name == "nt" and file.exists():
        file.chmod(0o666)
