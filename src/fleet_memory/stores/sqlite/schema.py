"""The schema of a memory file: its tables, how an older file becomes one of today, and which files
are refused.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from fleet_memory.errors import StoreRejectedError
from fleet_memory.stores.sqlite.conversion import split_documents
from fleet_memory.stores.sqlite.failures import FOREIGN, NEWER_FILE, may_pass

_logger = logging.getLogger(__name__)

Step: TypeAlias = str | Callable[[sqlite3.Connection], None]
Migrations: TypeAlias = Sequence[Sequence[Step]]

APPLICATION_ID: Final = (
    0x464D454D  # "FMEM" in the file's header tells it from every other SQLite database
)
PAGE_BYTES: Final = 512  # Source: docs/decisions/rows-and-pages.md
LOG_BYTES: Final = (
    4_000_000  # of the write-ahead log before it is copied to the file; SQLite's own choice
)

MAX_REBUILT_BYTES: Final = (
    64_000_000  # others wait 1.7 s for it. Source: docs/decisions/rows-and-pages.md
)

# Step n takes a file from schema version n to n + 1: statements and functions. Steps are appended,
# never edited.
MIGRATIONS: Final[Migrations] = (
    (
        f"pragma application_id = {APPLICATION_ID}",
        "create table docs(collection text, id text, body text not null, revision integer not null,"
        " primary key(collection, id))",
        "create table fields(collection text, id text, name text, value, primary "
        "key(collection, id, name))"
        " without rowid",
        "create index by_value on fields(collection, name, value)",
        "create table clock(now integer not null)",
        "insert into clock values(0)",
    ),
    (
        "alter table docs rename to docs_before",
        "create table docs(number integer primary key, collection text not null, id text not null,"
        " revision integer not null, bytes integer not null, body text not null)",
        "create unique index by_id on docs(collection, id)",
        # Long fields and the entries of maps; `place` is number << 32 and a count, so that a
        # document lies together
        "create table parts(place integer primary key, name text not null, value not null)",
        # The top-level scalars once more, for equalities, order and sums without opening a body.
        # Their collection and name are one number, so that the scalars which change together are on
        # few pages
        "create table field_names(number integer primary key, collection text not null, name "
        "text not null)",
        "create unique index field_by_name on field_names(collection, name)",
        "create table scalars(field integer, value, id text, primary key(field, value, id)) "
        "without rowid",
        split_documents,
        "insert into field_names(collection, name) select distinct collection, name from "
        "fields order by 1, 2",
        "insert into scalars select f.number, s.value, s.id from field_names f join fields s"
        " on s.collection = f.collection and s.name = f.name order by 1, 2, 3",
        "drop table docs_before",
        "drop table fields",
        "drop table clock",
    ),
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
    f"pragma page_size = {PAGE_BYTES}",  # of a file that is created, or rewritten by VACUUM
    # a longer log, e.g. of a conversion, is cut by a later commit
    f"pragma journal_size_limit = {LOG_BYTES}",
)


def open_database(path: Path, *, may_rebuild: bool = True) -> sqlite3.Connection:
    """Return a connection, for one thread at a time, to a file that is ready; `prepare` names those
    it refuses.

    `may_rebuild` gives an older file today's pages, if that can be done now.
    """
    db = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
    try:
        for setting in _SETTINGS:
            db.execute(setting)
        prepare(db)
        if may_rebuild:
            rebuild(db)
        db.execute(f"pragma wal_autocheckpoint = {LOG_BYTES // _page_bytes(db)}")
    except BaseException:
        db.close()
        raise
    return db


def prepare(db: sqlite3.Connection, steps: Migrations = MIGRATIONS) -> None:
    """Bring the file to the newest schema; any number of processes may do so at once.

    Raises StoreRejectedError for a file of another program or of a newer fleet-memory.
    """
    if not _is_ours(db):
        raise StoreRejectedError(FOREIGN)
    db.execute("pragma journal_mode = wal")
    while check_version(db, steps) < len(steps):
        db.execute("pragma temp_store = memory")  # the temporary folder may be full or read-only
        _take_step(db, steps)
        db.execute("pragma temp_store = default")  # VACUUM in memory would be the whole file


def check_version(db: sqlite3.Connection, steps: Migrations = MIGRATIONS) -> int:
    """Return the file's schema version, or raise StoreRejectedError when a newer fleet-memory has
    moved it on.
    """
    version: int = db.execute("pragma user_version").fetchone()[0]
    if version > len(steps):
        raise StoreRejectedError(
            NEWER_FILE, operator_detail=f"schema {version}, known up to {len(steps)}"
        )
    return version


def _page_bytes(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma page_size").fetchone()[0])


def rebuild(db: sqlite3.Connection, max_bytes: int = MAX_REBUILT_BYTES) -> None:
    """Give an older file today's page size, all or nothing; a file above `max_bytes` keeps its own.

    The log says why it was not done. May raise sqlite3.Error for a connection that opens the file
    meanwhile.
    """
    page_bytes, (pages,) = _page_bytes(db), db.execute("pragma page_count").fetchone()
    if page_bytes == PAGE_BYTES or page_bytes * pages > max_bytes:
        return
    failure: sqlite3.Error | None = None
    try:
        db.execute(
            "pragma journal_mode = delete"
        )  # with a write-ahead log, VACUUM leaves the size as it is
        db.execute(f"pragma page_size = {PAGE_BYTES}")
        db.execute("vacuum")
    except sqlite3.Error as caught:
        failure = caught
    db.execute("pragma journal_mode = wal")
    if failure:
        level = logging.INFO if may_pass(failure) else logging.WARNING
        name = getattr(failure, "sqlite_errorname", type(failure).__name__)
        _logger.log(level, "The memory file keeps its larger pages for now: %s: %s", name, failure)


def _is_ours(db: sqlite3.Connection) -> bool:
    db.execute("begin")  # both reads of one moment: another process may be creating the file
    (application,) = db.execute("pragma application_id").fetchone()
    is_empty = db.execute("select 1 from sqlite_master").fetchone() is None
    db.execute("commit")
    return bool(application == APPLICATION_ID or (is_empty and not application))


def _take_step(db: sqlite3.Connection, steps: Migrations) -> None:
    db.execute("begin immediate")
    version = check_version(db, steps)  # again, now that no other process can move it
    if version < len(steps):
        for part in steps[version]:
            if isinstance(part, str):
                db.execute(part)
            else:
                part(db)
        db.execute(f"pragma user_version = {version + 1}")
    db.execute("commit")
