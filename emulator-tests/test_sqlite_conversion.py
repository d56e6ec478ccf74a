"""A file of schema 1 that is opened becomes one of today: all of it or nothing, in spite of
interruptions.
"""

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import pytest
from anyio import to_thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schema_1 import read_schema_1, write_schema_1

from fleet_memory.errors import DocumentRejectedError, StoreRejectedError
from fleet_memory.stores import Document, Json, Query, Ref, StoreHealth, Write
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.stores.sqlite.schema import (
    LOG_BYTES,
    MIGRATIONS,
    PAGE_BYTES,
    check_version,
    open_database,
    prepare,
    rebuild,
)

pytestmark = pytest.mark.anyio

CHILDREN = Path(__file__).parent / "children"
HOME = "fleets/f1/programs"
LIMIT_S = 60  # so that a hang fails
CANNOT = 77  # the child's answer where it cannot make folders read-only
FULL = (
    "The memory file cannot grow; nothing was written. Free disk space or raise the quota, "
    "then call again."
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LONG_TEXTS = TEXTS.map(lambda text: text * 40)
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | LONG_TEXTS
)
KEYS = st.sampled_from(["k1", "k2", "0", "a.b", "键", "", "long" * 20])
NESTED = (
    st.none() | SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(KEYS, SCALARS, max_size=2)
)
VALUES = SCALARS | st.dictionaries(KEYS, NESTED, max_size=4) | st.lists(SCALARS, max_size=12)
DOCUMENTS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), VALUES, max_size=4), max_size=4
)
numbers = itertools.count()


def program(lessons: int) -> dict[str, Json]:
    """Return a document like those of programs: short fields, a long text, a long list, a map of
    many texts.
    """
    return {
        "run": lessons,
        "dirty": True,
        "shown": "seen " * 100,
        "commits": [f"{n:032x}" for n in range(16)],
        "notes": {},
        "patterns": {f"k{n:016x}": f"{n}" * 300 for n in range(lessons)},
    }


def fleet(programs: int = 40) -> dict[Ref, dict[str, Json]]:
    return {Ref(HOME, f"p{n:03}"): program(n) for n in range(programs)}


async def written(path: Path, documents: dict[Ref, dict[str, Json]]) -> Path:
    await to_thread.run_sync(partial(write_schema_1, path, documents))
    return path


async def opened(path: Path) -> list[Document]:
    store = SqliteStore(path)
    documents = await store.find(Query(HOME))
    await store.close()
    return documents


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
@given(bodies=DOCUMENTS)
async def test_a_converted_file_has_the_same_documents_revisions_and_index(
    bodies: list[dict[str, Json]], tmp_path: Path
) -> None:
    path = tmp_path / f"{next(numbers)}.db"
    documents = {Ref(HOME, f"d{n}"): fields for n, fields in enumerate(bodies)}
    await written(path, documents)
    store = SqliteStore(path)
    read = await store.find(Query(HOME))
    assert repr(read) == repr(
        [Document(ref, fields, str(n + 1)) for n, (ref, fields) in enumerate(documents.items())]
    )
    assert await store.get(*documents) == read
    for name in {name for fields in bodies for name in fields}:
        having = [
            ref.id
            for ref, fields in documents.items()
            if isinstance(fields.get(name), str | int | float)
        ]
        assert (
            sorted(document.ref.id for document in await store.find(Query(HOME, order=name)))
            == having
        )
    for document in read:
        await store.commit(
            Write(document.ref, {"added": {"k": "x" * 600}, "n": 1}, document.revision)
        )
    changed = [{**fields, "added": {"k": "x" * 600}, "n": 1} for fields in bodies]
    assert [document.fields for document in await store.find(Query(HOME, {"n": 1}))] == changed
    await store.close()


async def test_a_damaged_document_stays_damaged_and_the_others_are_converted(
    tmp_path: Path,
) -> None:
    path, documents = tmp_path / "memory.db", fleet(5)
    await written(path, documents)
    bodies = {"p000": "'{'", "p001": "'[]'", "p002": "cast(x'7b22ff' as text)", "p003": "'[1'"}
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name, body in bodies.items():
            db.execute(f"update docs set body = {body} where id = ?", (name,))  # noqa: S608 - ours
    store = SqliteStore(path)
    for name in bodies:
        with pytest.raises(StoreRejectedError, match="The memory file is corrupt"):
            await store.get(Ref(HOME, name))
    (document,) = await store.get(Ref(HOME, "p004"))
    assert document == Document(Ref(HOME, "p004"), documents[Ref(HOME, "p004")], "5")
    with pytest.raises(DocumentRejectedError):
        await store.check()
    await store.close()


async def test_a_server_of_schema_1_that_has_the_file_open_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    await written(path, fleet(2))
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as older:
        assert await to_thread.run_sync(check_version, older, MIGRATIONS[:1]) == 1
        assert len(await opened(path)) == 2
        with pytest.raises(StoreRejectedError, match="written by a newer fleet-memory"):
            await to_thread.run_sync(check_version, older, MIGRATIONS[:1])


async def test_processes_that_open_a_file_at_once_find_it_converted(tmp_path: Path) -> None:
    path, counter = tmp_path / "memory.db", Ref(HOME, "counter")
    documents: dict[Ref, dict[str, Json]] = {**fleet(), counter: {"n": 0}}
    await written(path, documents)
    command = [sys.executable, str(CHILDREN / "increment.py"), str(path), "3"]
    with anyio.fail_after(LIMIT_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(partial(anyio.run_process, command, stderr=None))
    expected = {**documents, counter: {"n": 12}}
    assert {document.ref: document.fields for document in await opened(path)} == expected


def converted_or_killed(path: Path, before_statement: int) -> list[str] | None:
    """Open the file in a process of its own; return the statements of that, None if it was
    killed.
    """
    command = [sys.executable, str(CHILDREN / "convert.py"), str(path), str(before_statement)]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_S)  # noqa: S603 - ours
    assert ended.returncode in {0, -signal.SIGKILL}, ended.stderr
    return cast("list[str]", json.loads(ended.stdout)) if ended.returncode == 0 else None


@pytest.mark.kills
async def test_a_killed_conversion_leaves_a_file_that_is_converted_when_it_is_opened_again(
    tmp_path: Path,
) -> None:
    documents = fleet()
    whole = await written(tmp_path / "whole.db", documents)
    statements = await to_thread.run_sync(converted_or_killed, whole, 0)
    assert statements is not None
    commit, end = (
        max(n for n, statement in enumerate(statements, 1) if statement == "commit"),
        len(statements),
    )
    assert end > commit + 5, "after the commit the file is built again with other pages"
    for moment in {*(commit * part // 5 for part in range(1, 6)), *range(commit + 1, end, 2)}:
        path = await written(tmp_path / f"{moment}.db", documents)
        assert await to_thread.run_sync(converted_or_killed, path, moment) is None
        if moment <= commit:
            assert await to_thread.run_sync(converted_or_killed, path, moment) is None, (
                "it finds the log of the first"
            )
            assert await to_thread.run_sync(read_schema_1, path) == (1, documents)
        assert {document.ref: document.fields for document in await opened(path)} == documents
        assert await to_thread.run_sync(pragma, path, "page_size") == PAGE_BYTES


@pytest.mark.parametrize("limit", [250_000, 400_000])
async def test_a_disk_that_is_full_during_the_conversion_leaves_the_file_as_it_is(
    tmp_path: Path, limit: int
) -> None:
    path, documents = tmp_path / "memory.db", fleet()
    await written(path, documents)
    command = [
        sys.executable,
        str(CHILDREN / "full_disk_conversion.py"),
        str(path),
        str(limit),
        HOME,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)]),
    }
    with anyio.fail_after(LIMIT_S):
        done = await anyio.run_process(command, env=environment, stderr=None)
    assert json.loads(done.stdout) == {
        "error": ["StoreUnavailableError", FULL],
        "unchanged": True,
        "documents": {ref.id: fields for ref, fields in documents.items()},
    }


async def test_no_temporary_folder_is_needed_and_the_file_does_not_grow(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    path = await written(folder / "memory.db", fleet())
    size = (await anyio.Path(path).stat()).st_size
    child = CHILDREN / "convert_without_temporary_folder.py"
    with anyio.fail_after(LIMIT_S):
        done = await anyio.run_process(
            [sys.executable, str(child), str(path), HOME], stderr=None, check=False
        )
    if done.returncode == CANNOT:
        pytest.skip("this user may create no namespace in which folders are read-only")
    assert json.loads(done.stdout) == [str(n + 1) for n in range(40)]
    assert (await anyio.Path(path).stat()).st_size < 1.2 * size


def pragma(path: Path, name: str) -> object:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"pragma {name}").fetchone()[0]


def tables(path: Path) -> set[str]:
    with closing(open_database(path)) as db:
        return {
            name for (name,) in db.execute("select name from sqlite_master where type = 'table'")
        }


async def test_a_converted_file_is_intact_and_has_the_pages_of_a_new_one(tmp_path: Path) -> None:
    path = await written(tmp_path / "memory.db", fleet(3))
    store = SqliteStore(path)
    assert await store.check() == StoreHealth(
        len(MIGRATIONS), intact=True, documents={"programs": 3}
    )
    await store.close()
    assert await to_thread.run_sync(tables, path) == {"docs", "parts", "field_names", "scalars"}
    pragmas = [
        await to_thread.run_sync(pragma, path, name) for name in ("page_size", "journal_mode")
    ]
    assert pragmas == [PAGE_BYTES, "wal"]


async def test_the_last_to_leave_gives_a_file_that_another_process_had_open_its_pages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = fleet(3)
    path = await written(tmp_path / "memory.db", documents)
    store = SqliteStore(path)
    with (
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
        caplog.at_level("INFO"),
    ):
        assert await to_thread.run_sync(check_version, other) == 1
        for _ in range(2):
            assert {
                document.ref: document.fields for document in await store.find(Query(HOME))
            } == documents
            other.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
            with pytest.raises(StoreRejectedError):  # which closes the connection
                await store.find(Query(HOME))
            other.execute(f"pragma user_version = {len(MIGRATIONS)}")
        assert await store.find(Query(HOME))
        assert await to_thread.run_sync(pragma, path, "page_size") == 4096
    busy = "The memory file keeps its larger pages for now: SQLITE_BUSY: database is locked"
    assert [(record.levelname, record.message) for record in caplog.records] == [("INFO", busy)]
    await store.close()
    assert await to_thread.run_sync(pragma, path, "page_size") == PAGE_BYTES
    assert {document.ref: document.fields for document in await opened(path)} == documents


async def test_a_file_that_was_put_in_the_place_of_an_open_one_is_left_alone_by_the_one_that_closes(
    tmp_path: Path,
) -> None:
    path, documents = tmp_path / "memory.db", fleet(3)
    store = SqliteStore(await written(path, documents))
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        assert await to_thread.run_sync(check_version, other) == 1
        assert len(await store.find(Query(HOME))) == 3
    newer = await written(tmp_path / "newer.db", {Ref(HOME, "new"): {"n": 1}})
    before = await anyio.Path(newer).read_bytes()
    await anyio.Path(newer).rename(path)
    await store.close()
    assert await anyio.Path(path).read_bytes() == before


async def test_a_larger_file_keeps_its_pages(tmp_path: Path) -> None:
    path = await written(tmp_path / "memory.db", fleet(3))
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as db:
        await to_thread.run_sync(prepare, db)
        size = db.execute("pragma page_count").fetchone()[0] * 4096
        await to_thread.run_sync(rebuild, db, size - 1)
        assert db.execute("pragma page_size").fetchone() == (4096,)
        await to_thread.run_sync(rebuild, db, size)
        assert db.execute("pragma page_size").fetchone() == (PAGE_BYTES,)


async def test_the_log_of_a_conversion_is_cut_while_another_process_has_the_file_open(
    tmp_path: Path,
) -> None:
    path = await written(
        tmp_path / "memory.db", {Ref(HOME, f"p{n:03}"): program(100) for n in range(300)}
    )
    log, store = anyio.Path(f"{path}-wal"), SqliteStore(path)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        assert await to_thread.run_sync(check_version, other) == 1
        for n in range(2):
            await store.commit(Write(Ref(HOME, "new"), {"n": n}))
        assert (await log.stat()).st_size <= LOG_BYTES
        assert (await anyio.Path(path).stat()).st_size > 2 * LOG_BYTES
    await store.close()
