"""How the file's schema moves on: step by step, once, while others open the file."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from anyio import to_thread

from fleet_memory.errors import StoreRejectedError
from fleet_memory.stores import ABSENT, Query, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.stores.sqlite.schema import MIGRATIONS, prepare, rebuild

ENTRIES = Query("fleets/f1/gsp")
NEXT_STEP = ("create table seen(id text)", "insert into seen select id from docs")
TABLES = (
    "select name from sqlite_master where type = 'table' and name in ('docs', 'seen', "
    "'half') order by name"
)

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def connect(path: Path) -> Iterator[Connect]:
    with ExitStack() as connections:
        yield lambda: connections.enter_context(
            closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
        )


def state(db: sqlite3.Connection) -> tuple[int, list[str]]:
    return db.execute("pragma user_version").fetchone()[0], [name for (name,) in db.execute(TABLES)]


@pytest.mark.anyio
async def test_an_older_file_keeps_its_documents_and_stores_of_the_old_schema_notice(
    path: Path, connect: Connect
) -> None:
    store = SqliteStore(path)
    await store.commit(
        *(Write(Ref(ENTRIES.collection, f"e{n}"), {"n": n}, ABSENT) for n in range(5))
    )
    before, db = await store.find(ENTRIES), connect()
    await to_thread.run_sync(prepare, db, (*MIGRATIONS, NEXT_STEP))
    assert state(db) == (len(MIGRATIONS) + 1, ["docs", "seen"])
    assert db.execute("select count(*) from seen").fetchone() == (5,)
    with pytest.raises(StoreRejectedError, match="written by a newer fleet-memory"):
        await store.commit(Write(Ref(ENTRIES.collection, "late"), {"n": 1}))
    db.execute(f"pragma user_version = {len(MIGRATIONS)}")
    assert await store.find(ENTRIES) == before
    await store.close()


def test_preparing_again_changes_nothing(connect: Connect) -> None:
    first, second = connect(), connect()
    prepare(first, (*MIGRATIONS, NEXT_STEP))
    prepare(second, (*MIGRATIONS, NEXT_STEP))
    assert state(first) == state(second) == (len(MIGRATIONS) + 1, ["docs", "seen"])


def test_a_step_that_another_process_took_first_is_not_taken_again(connect: Connect) -> None:
    slow, fast = connect(), connect()
    overtaken: list[tuple[int, list[str]]] = []

    def overtake(statement: str) -> None:
        if statement == "begin immediate" and not overtaken:
            prepare(fast)
            overtaken.append(state(fast))

    slow.set_trace_callback(overtake)  # called before the statement, which then waits for no one
    prepare(slow)
    assert overtaken == [state(slow)] == [(len(MIGRATIONS), ["docs"])]


def test_a_failing_step_leaves_the_file_at_the_step_before(connect: Connect) -> None:
    db = connect()
    with pytest.raises(sqlite3.OperationalError):
        prepare(db, (*MIGRATIONS, NEXT_STEP, ("create table half(id text)", "no such statement")))
    db.close()
    assert state(connect()) == (len(MIGRATIONS) + 1, ["docs", "seen"])


def test_pages_that_stay_for_an_unknown_reason_are_a_warning(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    db = connect()
    db.execute("pragma page_size = 4096")
    prepare(db)
    db.set_authorizer(
        lambda _action, name, value, *_: (
            sqlite3.SQLITE_DENY if name == "page_size" and value else sqlite3.SQLITE_OK
        )
    )
    rebuild(db)
    refused = "The memory file keeps its larger pages for now: SQLITE_AUTH: not authorized"
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", refused)
    ]
    assert db.execute("pragma journal_mode").fetchone() == ("wal",)
