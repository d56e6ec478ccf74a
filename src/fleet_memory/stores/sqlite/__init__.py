"""The SQLite engine: a fleet's documents in one local file that any number of processes share.

Each verb is one short transaction in a worker thread, but `scrub`, which writes the whole file. WAL
needs a local disk, not a network share.
"""

import random
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import anyio
from anyio import to_thread

from fleet_memory.clock import machine_time
from fleet_memory.errors import DocumentRejectedError, StoreRejectedError, StoreUnavailableError
from fleet_memory.stores import OTHER_SHAPE, SHAPE, Document, Query, Ref, StoreHealth, Write
from fleet_memory.stores.sqlite.documents import TABLES, apply, find, health, read, total
from fleet_memory.stores.sqlite.failures import CORRUPT, FOREIGN, is_busy, translated

_T = TypeVar("_T")
Work: TypeAlias = Callable[[sqlite3.Connection], _T]

APPLICATION_ID: Final = (
    0x464D454D  # "FMEM" in the file's header tells it from every other SQLite database
)
_SETTINGS: Final = (
    # "A call that returned OK is durable": NORMAL keeps that promise through kill -9, only FULL
    # through a power cut. It costs one fsync a commit: 0.05 to 3 ms by disk, where an agent stores
    # once in seconds.
    "pragma synchronous = full",
    # macOS: its plain fsync leaves the data in the drive's cache. Ignored elsewhere
    "pragma fullfsync = on",
    # Debian's library else writes free pages full of zeros; `scrub` removes old bytes
    "pragma secure_delete = fast",
    # a store of one lesson writes 8 kB; with SQLite's 4 kB pages 29. Set when a file is created
    "pragma page_size = 1024",
    "pragma wal_autocheckpoint = 4000",  # pages of the log before it is copied to the file
    "pragma journal_size_limit = 4000000",  # bytes of the log that a later commit cuts it to
)
_FIRST_PAUSE_S = 0.001
_MAX_PAUSE_S = 0.02
_WAIT_S = 20.0  # Source: 20 processes that commit back to back on 2 busy cores waited 6 s at worst


class SqliteStore:
    """One memory file. Nothing is opened or created before the first verb; a verb after `close`
    opens it again.

    `wait_s` is how long a verb waits for a file that another program keeps locked.
    """

    def __init__(self, path: Path | str, *, wait_s: float = _WAIT_S) -> None:
        self._path = Path(path).absolute()
        self._wait_s = wait_s
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        # A connection is for one thread at a time, and no verb goes past one that waits for the
        # file. The second lock: a thread works on when asyncio, not anyio, cancels its caller
        self._turn, self._working = anyio.Lock(fast_acquire=True), threading.Lock()

    async def get(self, *refs: Ref) -> list[Document | None]:
        """See `Store.get`."""
        return await self._run("begin", lambda db: [read(db, ref) for ref in refs])

    async def find(self, query: Query) -> list[Document]:
        """See `Store.find`."""
        return await self._run("begin", lambda db: find(db, query))

    async def total(self, query: Query, field: str | None = None) -> int:
        """See `Store.total`."""
        return await self._run("begin", lambda db: total(db, query, field))

    async def commit(self, *writes: Write) -> datetime:
        """See `Store.commit`."""
        # the write lock comes before the read, or a commit fails because another one overtook it
        if writes:
            await self._run("begin immediate", lambda db: apply(db, writes))
        return machine_time()

    async def scrub(self) -> bool:
        """See `Store.scrub`: the file is rewritten without free pages, and its log is cut to
        nothing.
        """
        try:
            await self._waiting(self._scrub)
        except StoreUnavailableError as error:
            if isinstance(error.__cause__, sqlite3.Error) and is_busy(error.__cause__):
                return False
            raise
        return True

    async def copy_to(self, file: Path) -> None:
        """Write a consistent copy into an empty file, while other processes read and write."""

        def copy() -> None:
            db = self._connected()
            _require_shape(db)
            db.execute("vacuum into ?", (str(file),))
            copied = sqlite3.connect(file)
            copied.execute("pragma journal_mode = wal")
            copied.close()

        await self._waiting(copy)

    async def check(self) -> StoreHealth:
        """Read the whole file and report; a file too damaged to be read raises
        StoreRejectedError.
        """
        return await self._run("begin", health)

    async def close(self) -> None:
        """See `Store.close`."""
        async with self._turn:
            await self._in_thread(self._disconnect)

    async def _run(self, begin: str, work: Work[_T]) -> _T:
        return await self._waiting(lambda: self._attempt(begin, work))

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        def alone() -> _T:
            with self._working:
                return work()

        return await to_thread.run_sync(alone)

    async def _waiting(self, attempt: Callable[[], _T]) -> _T:
        deadline, pause_s = time.monotonic() + self._wait_s, _FIRST_PAUSE_S
        async with self._turn:
            while True:
                try:  # a cancelled caller leaves between two attempts, never within one
                    return await self._in_thread(attempt)
                except (sqlite3.Error, OSError, StoreRejectedError) as failure:
                    if not is_busy(failure) or time.monotonic() > deadline:
                        raise translated(failure, self._path) from failure
                # Instead of SQLite's busy_timeout: its sleepers starve when many processes write
                await anyio.sleep(random.uniform(0, pause_s))  # noqa: S311 - spreads attempts, guards no secret
                pause_s = min(pause_s * 1.5, _MAX_PAUSE_S)

    def _attempt(self, begin: str, work: Work[_T]) -> _T:
        db = self._connected()
        try:
            db.execute(begin)
            _require_shape(db)
            result = work(db)
            db.execute("commit")
        except BaseException as failure:
            if _is_of_the_file(failure):
                self._disconnect()  # which rolls back; the next call opens the file as it is then
            elif db.in_transaction:
                db.execute("rollback")
            raise
        return result

    def _scrub(self) -> None:
        db = self._connected()
        _require_shape(db)
        db.execute("vacuum")
        (has_readers,) = db.execute("pragma wal_checkpoint(truncate)").fetchone()[:1]
        if has_readers:
            failure = sqlite3.OperationalError("the log is being read")
            failure.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise failure

    def _connected(self) -> sqlite3.Connection:
        if self._db is not None and self._file != _identity(self._path):
            # the file was replaced or deleted: writes to the old one would be lost
            self._disconnect()
        if self._db is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._path.exists():
                self._path.touch(mode=0o600)  # a memory is its user's alone
            self._file = _identity(self._path)
            self._db = open_database(self._path)
        return self._db

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None


def open_database(path: Path) -> sqlite3.Connection:
    """Return a connection, for one thread at a time, to a file of this shape.

    An empty file gets its tables; any number of processes may open it at once. Raises
    StoreRejectedError for a file of another program or of another shape.
    """
    db = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
    try:
        for setting in _SETTINGS:
            db.execute(setting)
        if _application(db) != APPLICATION_ID:
            db.execute("begin immediate")
            if not _is_ours(db):  # again, now that no other process can create it
                for statement in TABLES:
                    db.execute(statement)
                db.execute(f"pragma application_id = {APPLICATION_ID}")
                db.execute(f"pragma user_version = {SHAPE}")
            db.execute("commit")
        _require_shape(db)
        db.execute("pragma journal_mode = wal")
    except BaseException:
        db.close()
        raise
    return db


def _application(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma application_id").fetchone()[0])


def _is_ours(db: sqlite3.Connection) -> bool:
    """Whether it is a memory file, not an empty one. Raises StoreRejectedError for any other."""
    application, first = _application(db), db.execute("select 1 from sqlite_master").fetchone()
    if application != APPLICATION_ID and (application or first):
        raise StoreRejectedError(FOREIGN)
    return application == APPLICATION_ID


def _require_shape(db: sqlite3.Connection) -> None:
    (shape,) = db.execute("pragma user_version").fetchone()
    if shape != SHAPE:
        raise StoreRejectedError(OTHER_SHAPE, operator_detail=f"shape {shape}, not {SHAPE}")


def _is_of_the_file(failure: BaseException) -> bool:
    if isinstance(failure, DocumentRejectedError) and str(failure) != CORRUPT:
        return False  # a write; where a document is damaged, a backup may be copied into the file
    return isinstance(failure, sqlite3.Error | StoreRejectedError) and not is_busy(failure)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
