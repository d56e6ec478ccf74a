"""Changes through a client's own command, where it has one that keeps the rest of its file."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fleet_memory.clients.changes import FileChange, make_changes, read_text

MAX_COMMAND_S: Final = 60  # chosen: some clients are slow to start


def runnable(command: Sequence[str]) -> list[str]:
    """Return the command with its program's path, empty if there is none here that takes JSON as an
    argument.
    """
    path = shutil.which(command[0]) if command else None
    if path is None or Path(path).suffix.lower() in (".cmd", ".bat"):  # cmd.exe changes quotes
        return []
    return [path, *command[1:]]


def carry_out(changes: Sequence[FileChange]) -> None:
    """Make all changes, by the clients' commands where these work, or none.

    Raises ChangedMeanwhileError, and InvalidArgumentError when a file cannot be written.
    """
    make_changes(changes, _changed_by_command)


def _changed_by_command(change: FileChange) -> bool:
    """Run a change's command, and return whether the file then is as the change wants it."""
    words = runnable(change.command)
    if not words:
        return False
    wanted = change.part.is_in((change.after or b"").decode("utf-8-sig"))
    return _run(words) and change.part.is_in(read_text(change.file)) == wanted


def _run(words: Sequence[str]) -> bool:
    try:
        completed = subprocess.run(  # noqa: S603 words of ours, no shell
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=MAX_COMMAND_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return completed.returncode == 0
