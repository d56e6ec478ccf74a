"""Changes of configuration files: planned and shown, then all written or none.

A record in the platform's state directory keeps, for each file, how to lead back; without one undo
takes our part out.
"""

import difflib
import hashlib
import json
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import platformdirs

from fleet_memory.clients.parts import Before, Part
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.whole_files import draft_beside, remove_drafts

_BOM: Final = b"\xef\xbb\xbf"
_SHOWN_LINES: Final = 3  # around a change; chosen
_SHOWN_CHARS: Final = 80  # before a change in a line; chosen


class FileChange(NamedTuple):
    """One file before and after, None where it does not exist, and the record that belongs to it,
    None for none.

    `command` is the client's own that does the same; empty where none does.
    """

    part: Part
    before: bytes | None
    after: bytes | None
    record: bytes | None
    command: Sequence[str] = ()

    @property
    def file(self) -> Path:
        """The file."""
        return self.part.file

    @property
    def diff(self) -> str:
        """The change as a unified diff; of long lines only the part around it."""
        old, new = (
            _text(self.file, side or b"").splitlines(keepends=True)
            for side in (self.before, self.after)
        )
        was, becomes = (
            "/dev/null" if side is None else str(self.file) for side in (self.before, self.after)
        )
        start = max(
            0, _count_alike(old, new) - _SHOWN_LINES
        )  # difflib alone takes seconds for megabytes
        end = max(0, _count_alike(old[:start:-1], new[:start:-1]) - _SHOWN_LINES)
        old, new = (lines[start : len(lines) - end] for lines in (old, new))
        if len(old) == len(new) == 1:
            around = max(0, _count_alike(old[0], new[0]) - _SHOWN_CHARS)
            old, new = (
                [f"{line[around : around + 10 * _SHOWN_CHARS]}\n"] for (line,) in (old, new)
            )
        shown = difflib.unified_diff(old, new, was, becomes, n=_SHOWN_LINES)
        lines = (
            "@@" if line.startswith("@@") else line.removesuffix("\n") for line in shown
        )  # numbers of the part
        return "\n".join(lines)


class ChangedMeanwhileError(Exception):
    """A file is no longer as it was when its change was planned; nothing was written."""


def planned_changes(parts: Sequence[Part], *, undo: bool) -> list[FileChange]:
    """Return the changes that put the parts in or take them out. Raises InvalidArgumentError, which
    names the file.
    """
    changes = [_undoing(part) if undo else _installing(part) for part in parts]
    return [change for change in changes if change.after != change.before]


def make_changes(changes: Sequence[FileChange], by_command: Callable[[FileChange], bool]) -> None:
    """Make all changes, or restore the files that were written; records that belong to no change
    go.

    `by_command` makes a change by its command, and returns whether that worked; else the file is
    written. Commands come last, because nothing can take one back: the client may have dropped the
    owner's keys. Raises ChangedMeanwhileError, and InvalidArgumentError when a file cannot be
    written.
    """
    written = list[FileChange]()
    try:
        for change in sorted(changes, key=lambda change: bool(change.command)):
            _require_unchanged(change)
            if change.record is not None:
                _write(_record_file(change.file), change.record, mode=0o600)
            if not by_command(change):
                written.append(change)
                _write(change.file, change.after, partial(_require_unchanged, change))
    except (ChangedMeanwhileError, InvalidArgumentError):
        for change in written:
            _restore(change)
        raise
    for change in changes:
        if change.record is None:
            with suppress(
                InvalidArgumentError
            ):  # left behind it harms nothing: it knows the entry that it is of
                _write(_record_file(change.file), None)


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Put the file's name in front of an InvalidArgumentError that is raised inside."""
    try:
        yield
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{file}: {error}") from error


def content_of(file: Path) -> bytes | None:
    """Return the content of a file, None without one. Raises InvalidArgumentError."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidArgumentError(
            f"{file}: cannot be read: {error.strerror}; nothing was changed"
        ) from error


def read_text(file: Path) -> str:
    """Return the text of a file, "" without one. Raises InvalidArgumentError."""
    return _text(file, content_of(file) or b"")


def _require_unchanged(change: FileChange) -> None:
    if content_of(change.file) != change.before:
        raise ChangedMeanwhileError(change.file)


def _restore(change: FileChange) -> None:
    undone = change._replace(before=change.after, after=change.before)
    with suppress(
        ChangedMeanwhileError, InvalidArgumentError
    ):  # the first problem is the one to tell
        _write(undone.file, undone.after, partial(_require_unchanged, undone))


def _count_alike(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many items two sequences start with alike, e.g. 2 for "abc" and "abd"."""
    return next(
        (i for i, (one, other) in enumerate(zip(old, new, strict=False)) if one != other),
        min(len(old), len(new)),
    )


def _installing(part: Part) -> FileChange:
    before = content_of(part.file)
    text = _text(part.file, before or b"")
    with naming(part.file):
        after = part.put(text)
        is_in, state = part.is_in(text), part.before(text)
    record, ours = (_record(part.file) or {}) if is_in else {}, [_fingerprint(part.before(after))]
    is_of_0_1 = bool(record) and "ours" not in record
    if is_of_0_1 or _fingerprint(state) in _listed(
        record.get("ours")
    ):  # else another's, perhaps in the place of ours
        record["ours"] = [
            _fingerprint(state),
            *ours,
        ]  # of both: the run may end before it writes the file
    else:  # the first one leads back to before all of ours
        start = {} if text.strip() else {"start": None if before is None else text}
        values = None if state.values is None else {**state.values, **state.dropped}
        record = {
            "file": str(part.file),
            "keys": state.keys,
            "values": values,
            "ours": ours,
            **start,
        }
    command = () if is_in else part.add  # a client's own replaces the whole entry
    return FileChange(part, before, _bytes(after, before), json.dumps(record).encode(), command)


def _undoing(part: Part) -> FileChange:
    before = content_of(part.file)
    text = _text(part.file, before or b"")
    record = _record(part.file) or {}
    keys, values = record.get("keys"), record.get("values")
    state = Before(
        keys if isinstance(keys, int) else 0, values if isinstance(values, dict) else None
    )
    with naming(part.file):
        now = part.before(text)
        is_recorded = now.values is not None and _fingerprint(now) in _listed(record.get("ours"))
        if before is None or not (part.is_in(text) or is_recorded):
            return FileChange(part, before, before, None)
        after: bytes | None = _bytes(part.taken_out(text, state), before)
    if "start" in record and (after or b"").removeprefix(_BOM).strip() in (b"", b"{}"):
        start = record["start"]
        after = _bytes(start, before) if isinstance(start, str) else None
    return FileChange(part, before, after, None, () if state.values else part.remove)


def _fingerprint(state: Before) -> str:
    """Return a hash of the values of our keys, by which a record knows the part that it belongs
    to.
    """
    return hashlib.sha256(json.dumps(state.values, sort_keys=True).encode()).hexdigest()


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _bytes(text: str, before: bytes | None) -> bytes:
    return (_BOM if (before or b"").startswith(_BOM) else b"") + text.encode()


def _text(file: Path, content: bytes) -> str:
    try:
        return content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{file}: not UTF-8; nothing was changed") from error


def _record(file: Path) -> dict[str, object] | None:
    """Return the record of a file, None without one; a damaged one counts as none.

    Version 0.1.0 wrote `before` and `after`, both of the whole file, and replaced an owner's entry
    as a whole: its record leads back to a file without the entry, and to none where `before` is
    null.
    """
    try:
        record = json.loads(_record_file(file).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    if "after" not in record:
        return record
    return {"file": str(file), **({"start": None} if record.get("before") is None else {})}


def _record_file(file: Path) -> Path:
    name = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:32]
    return (
        platformdirs.user_state_path("fleet-memory", appauthor=False) / "installed" / f"{name}.json"
    )


def _write(
    file: Path,
    content: bytes | None,
    check: Callable[[], None] = lambda: None,
    *,
    mode: int = 0o644,
) -> None:
    """Replace a file, or a link's target, in one step, None to delete it; an existing file keeps
    its mode.

    `check` may raise directly before that step. Drafts that a killed run left go. Raises
    ChangedMeanwhileError when another run takes this one's draft for such, and
    InvalidArgumentError.
    """
    target = file.resolve()
    try:
        if content is None:
            check()
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_drafts(target)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else mode
        with draft_beside(target, content, mode=mode, is_synced=True) as draft:
            check()
            try:
                draft.replace(target)
            except FileNotFoundError as error:
                raise ChangedMeanwhileError(file) from error
    except OSError as error:
        raise InvalidArgumentError(
            f"{file}: cannot be written: {error.strerror}; no file was changed"
        ) from error
