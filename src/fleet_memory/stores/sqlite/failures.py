"""Failures of the memory file, by SQLite's and the system's codes, in words for agent and operator.

Clients see these sentences, so they name no path; the path and SQLite's own words go to
`operator_detail`.
"""

import errno
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fleet_memory.errors import (
    OutcomeUnknownError,
    StoreError,
    StoreRejectedError,
    StoreUnavailableError,
)
from fleet_memory.stores import Failure

_OTHER_FILE = "point FLEET_MEMORY_STORE at another file"
_BACKUP = f"restore a backup, or {_OTHER_FILE}; run `fleet-memory doctor store`"

CORRUPT: Final = f"The memory file is corrupt: {_BACKUP}."
FOREIGN: Final = f"The memory file is another program's database: {_OTHER_FILE}."

_LOCKED: Failure = (
    StoreUnavailableError,
    "Another program keeps the memory file locked; nothing was written. Call again in a moment.",
)
_FULL: Failure = (
    StoreUnavailableError,
    "The memory file cannot grow; nothing was written. Free disk space or raise the quota, "
    "then call again.",
)
_FAILED: Failure = (
    StoreUnavailableError,
    "The memory file could not be read or written. Call again; if it goes on, check the disk.",
)
_UNCONFIRMED: Failure = (
    OutcomeUnknownError,
    "The disk did not confirm the last write, which may have been applied. Call again; if it "
    "goes on, check the disk.",
)
_READ_ONLY: Failure = (
    StoreRejectedError,
    "The memory file, its -wal or -shm file or their folder is read-only: let this user write "
    f"them all, or {_OTHER_FILE}.",
)
_NO_ACCESS: Failure = (
    StoreRejectedError,
    "The memory file cannot be opened: it must be a file that this user may read and write, in a "
    f"folder where this user may create files. Change that, or {_OTHER_FILE}.",
)

_BY_SQLITE_CODE: Mapping[int, Failure] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,  # lost the race to open the write-ahead log again and again
    sqlite3.SQLITE_CORRUPT: (StoreRejectedError, CORRUPT),
    sqlite3.SQLITE_NOTADB: (StoreRejectedError, f"The memory file is not a database: {_BACKUP}."),
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _NO_ACCESS,
    sqlite3.SQLITE_PERM: _NO_ACCESS,
    sqlite3.SQLITE_FULL: _FULL,
    # over a quota or a file size limit; only a full disk is SQLITE_FULL
    sqlite3.SQLITE_IOERR_WRITE: _FULL,
    sqlite3.SQLITE_IOERR_SHMSIZE: _FULL,
    sqlite3.SQLITE_IOERR_FSYNC: _UNCONFIRMED,
}
_BY_ERRNO: Mapping[int | None, Failure] = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _NO_ACCESS,
    errno.EPERM: _NO_ACCESS,
    errno.ENOTDIR: _NO_ACCESS,
    errno.EEXIST: _NO_ACCESS,
}


def is_busy(failure: Exception) -> bool:
    """Whether another connection was in the way and the same attempt may succeed in a moment."""
    return isinstance(failure, sqlite3.Error) and _explained(failure) is _LOCKED


def translated(failure: sqlite3.Error | OSError | StoreError, path: Path) -> StoreError:
    """Return the error to raise, with advice for clients and the file for operators."""
    if isinstance(failure, StoreError):
        return type(failure)(str(failure), operator_detail=f"{path}: {failure.operator_detail}")
    kind, message = _explained(failure)
    name = getattr(failure, "sqlite_errorname", type(failure).__name__)
    return kind(message, operator_detail=f"{path}: {name}: {failure}")


def _explained(failure: sqlite3.Error | OSError) -> Failure:
    if isinstance(failure, OSError):
        return _BY_ERRNO.get(failure.errno, _FAILED)
    code = getattr(
        failure, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT
    )  # a text that is not UTF-8 comes without one
    return _BY_SQLITE_CODE.get(code) or _BY_SQLITE_CODE.get(code & 0xFF) or _FAILED
