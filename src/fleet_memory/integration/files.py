"""Changes of configuration files: shown first, written whole or not at all, and undone to the byte."""

import base64
import difflib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import platformdirs

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.integration.clients import FileEdits

_BOM: Final = b"\xef\xbb\xbf"


class FileChange(NamedTuple):
    """One file before and after; None where it does not exist. `exact` marks an undo that restores the bytes."""

    file: Path
    before: bytes | None
    after: bytes | None
    exact: bool = False

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = (_text(self.file, side or b"").splitlines(keepends=True) for side in (self.before, self.after))
        was, becomes = ("/dev/null" if side is None else str(self.file) for side in (self.before, self.after))
        shown = difflib.unified_diff(old, new, was, becomes)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in shown)


def installing(edits: FileEdits) -> list[FileChange]:
    """Return the changes that installing makes, none for a file that is right already. Raises InvalidArgumentError."""
    found = [(edit.file, _read(edit.file), edit.put) for edit in edits]
    return [change for change in (_edited(*one) for one in found) if change.after != change.before]


def undoing(edits: FileEdits) -> list[FileChange]:
    """Return the changes that take our part out: the bytes of before, or our entries from a file that changed since."""
    changes = []
    for edit in edits:
        now = _read(edit.file)
        record = _record(edit.file)
        kept = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        if now is not None and kept.get("after") == _digest(now):
            before = kept["before"]
            changes.append(FileChange(edit.file, now, None if before is None else base64.b64decode(before), exact=True))
        elif now is not None:
            changes.append(_edited(edit.file, now, edit.take))
    return [change for change in changes if change.after != change.before]


def write_change(change: FileChange) -> None:
    """Write a change of `installing` and record how to undo it. Raises InvalidArgumentError when that fails."""
    record = _record(change.file)
    before = change.before
    if record.exists():
        kept = json.loads(record.read_text(encoding="utf-8"))
        if before is not None and kept["after"] == _digest(before):  # ours all along: undo leads back to the first
            before = None if kept["before"] is None else base64.b64decode(kept["before"])
    note = {
        "file": str(change.file),
        "before": None if before is None else base64.b64encode(before).decode(),
        "after": _digest(change.after or b""),
    }
    _replace(record, json.dumps(note).encode(), private=True)
    _replace(change.file, change.after or b"")


def undo_change(change: FileChange) -> None:
    """Write a change of `undoing`, and delete its record."""
    if change.after is None:
        change.file.unlink()
    else:
        _replace(change.file, change.after)
    _record(change.file).unlink(missing_ok=True)


def _edited(file: Path, before: bytes | None, edit: Callable[[str], str]) -> FileChange:
    try:
        text = edit(_text(file, before or b""))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{file}: {error}") from error
    bom = _BOM if (before or b"").startswith(_BOM) else b""
    after = bom + text.encode()
    return FileChange(file, before, before if after == (before or b"") else after)


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidArgumentError(f"{file}: cannot be read: {error.strerror}; nothing was changed") from error


def _text(file: Path, content: bytes) -> str:
    try:
        return content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{file}: not UTF-8; nothing was changed") from error


def _replace(file: Path, content: bytes, *, private: bool = False) -> None:
    """Replace a file, or a link's target, by the content in one step; an existing file keeps its mode."""
    target = file.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as draft:
            draft.write(content)
            draft.flush()
            os.fsync(draft.fileno())
        drafted = Path(draft.name)
        if not private:  # a temporary file is for its owner only
            drafted.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        drafted.replace(target)
    except OSError as error:
        raise InvalidArgumentError(f"{file}: cannot be written: {error.strerror}") from error


def _record(file: Path) -> Path:
    name = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:32]
    return platformdirs.user_state_path("fleet-memory", appauthor=False) / "installed" / f"{name}.json"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
