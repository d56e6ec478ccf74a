"""The files of a session for `fleet_memory.moment`, which answers a client's hooks on tools: the
index of the lessons that it may be shown, those that it has read, and showings of others' lessons
that the store does not know yet.

They lie in the folder of the hooks' state, readable to their owner alone.
"""

import json
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fleet_memory.moment import append, index_of, read_lines, session_file
from fleet_memory.whole_files import draft_beside


class Moment(NamedTuple):
    """A lesson that a session may be shown: the hash of its id or key, its line in the context, the
    text and the evidence whose words are compared, and the hash of its words where another agent
    alone told it.
    """

    name: str
    line: str
    text: str
    evidence: str
    told: str = ""


class Told(NamedTuple):
    """Lessons of others that programs were shown, by program and hash of words, with the time; and
    the files that say so.
    """

    programs: Mapping[str, Mapping[str, datetime]]
    files: Sequence[Path]


def write_index(
    folder: Path | None, session_id: str, of: Mapping[str, object], moments: Sequence[Moment]
) -> None:
    """Write the lessons that a session may be shown from now on, in place of an earlier index.

    They are `of` a "memory", by its hash, and a "program"; "claims" says where a memory file has
    those of work.
    """
    file = session_file(folder, session_id, "json")
    if file is None:
        return
    content = {
        **of,
        "index": index_of((moment.text, moment.evidence) for moment in moments),
        "lessons": [{"name": m.name, "line": m.line, "told": m.told} for m in moments],
    }
    with suppress(OSError), draft_beside(_in_folder(file), json.dumps(content).encode()) as draft:
        draft.replace(file)


def forget_index(folder: Path | None, session_id: object) -> None:
    """Remove the index of a session that ended; what it has read stays for one that goes on."""
    if file := session_file(folder, session_id, "json"):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def forget_texts(folder: Path | None) -> None:
    """Remove every session's index, drafts of it and hashes of what was read: each may be of a text
    that was erased. Showings that a memory does not know yet stay.
    """
    with suppress(OSError):
        for file in (folder / "moments").iterdir() if folder else ():
            if not file.suffix.startswith(".told"):
                file.unlink(missing_ok=True)


def read_shown_lessons(folder: Path | None, session_id: str, agent: str = "") -> set[str]:
    """Return the names of the lessons that an agent of a session has read; "" is its main agent."""
    file = session_file(folder, session_id, "shown")
    with suppress(OSError, ValueError):
        lines = read_lines(file) if file else []
        return {line.split(" ")[1] for line in lines if line.startswith(f"{agent} ")}
    return set()


def note_shown(
    folder: Path | None, session_id: str, agent: str, names: Collection[str], *, anew: bool
) -> None:
    """Note what an agent of a session has read; `anew`: what was noted before is out of its
    context.
    """
    file = session_file(folder, session_id, "shown")
    if file is None:
        return
    with suppress(OSError):
        if anew:
            file.unlink(missing_ok=True)
        if names:
            append(
                _in_folder(file), "\n".join(f"{agent} {name} {time.time_ns()}" for name in names)
            )


def take_told(folder: Path | None, memory: str) -> Told:
    """Return the showings of others' lessons that are not in a memory yet. Each goes to one caller,
    and again to the next where the caller does not `remove_told`.
    """
    programs = defaultdict[str, dict[str, datetime]](dict)
    files = list[Path]()
    for file in (folder / "moments").glob(f"*.{memory}.told*") if folder else ():
        with suppress(OSError):
            files.append(file.replace(file.with_suffix(f".told-{time.time_ns()}")))
            for line in read_lines(files[-1]):
                with suppress(ValueError):
                    program, words, at = json.loads(line)
                    programs[program].setdefault(words, datetime.fromtimestamp(at, UTC))
    return Told(programs, files)


def remove_told(told: Told) -> None:
    """Remove the files of showings that a memory has now."""
    for file in told.files:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def forget_older(folder: Path | None, kind: str, before: datetime, ending: str = "") -> None:
    """Remove the files of a kind that were last written before an instant, e.g. of "moments"; those
    of one ending or all.
    """
    with suppress(OSError):
        for file in (folder / kind).glob(f"*{ending}") if folder else ():
            if file.stat().st_mtime < before.timestamp():
                file.unlink(missing_ok=True)


def _in_folder(file: Path) -> Path:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return file
