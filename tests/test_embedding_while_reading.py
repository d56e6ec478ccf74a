"""A text is embedded while documents are read: neither waits for the other, and no read or commit
is added.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from fleet_memory.clock import clock
from fleet_memory.errors import StoreUnavailableError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Document, Query, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.session.commit_session import commit_session
from fleet_memory.tools.state import write_note
from tests.wrapped import Counted

pytestmark = pytest.mark.anyio

Wait: TypeAlias = Callable[[], Awaitable[object]]


async def at_once() -> None:
    """Wait for nothing."""


class WaitingStore(Counted):
    """A store that counts its commits, and sets `is_read` and waits before it answers a read."""

    def __init__(self, path: Path, wait: Wait = at_once) -> None:
        super().__init__(SqliteStore(path))
        self.wait = wait
        self.is_read = anyio.Event()
        self.commits = 0

    async def get(self, *refs: Ref) -> list[Document | None]:
        await self._answerable()
        return await super().get(*refs)

    async def find(self, query: Query) -> list[Document]:
        await self._answerable()
        return await super().find(query)

    async def commit(self, *writes: Write) -> datetime:
        self.commits += 1
        return await super().commit(*writes)

    async def _answerable(self) -> None:
        self.is_read.set()
        await self.wait()


class WaitingEmbedder(Lexical):
    """An embedder that sets `is_asked` and waits before it answers."""

    def __init__(self, wait: Wait = at_once) -> None:
        super().__init__()
        self.wait = wait
        self.is_asked = anyio.Event()
        self.texts: list[str] = []
        self.was_cancelled = False

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        self.is_asked.set()
        try:
            await self.wait()
        except anyio.get_cancelled_exc_class():
            self.was_cancelled = True
            raise
        return await super().vectors(texts)


def lesson(text: str) -> NewPattern:
    return NewPattern.model_validate(
        {"domain": "deploys", "pattern": text, "confidence": 0.8, "evidence": "seen"}
    )


def fleet_of(store: WaitingStore, embedder: WaitingEmbedder) -> Fleet:
    return Fleet.on(store, "fleet", embedder, clock(None))


async def store_one(fleet: Fleet) -> object:
    return await store_memory(fleet, "basher", lesson("Pin versions"))


async def end_session(fleet: Fleet) -> object:
    return await commit_session(fleet, "basher", patterns=(lesson("Pin versions"),))


@pytest.mark.parametrize("call", [store_one, end_session])
async def test_neither_the_read_nor_the_embedding_waits_for_the_other(
    call: Callable[[Fleet], Awaitable[object]], tmp_path: Path
) -> None:
    store, embedder = WaitingStore(tmp_path / "m.db"), WaitingEmbedder()
    store.wait, embedder.wait = embedder.is_asked.wait, store.is_read.wait
    fleet = fleet_of(store, embedder)
    with anyio.fail_after(20):
        await call(fleet)
        (pattern,) = (await fleet.programs.read("basher")).patterns.values()
    assert (pattern.embedder, embedder.texts) == ("lexical/1", ["Pin versions"])
    await store.close()


async def test_a_store_reads_one_document_and_writes_one(tmp_path: Path) -> None:
    store = WaitingStore(tmp_path / "m.db")
    await store_one(fleet_of(store, WaitingEmbedder()))
    assert (store.reads, store.writes, store.commits) == (1, 1, 1)
    await store.close()


@pytest.mark.parametrize("call", [store_one, end_session])
async def test_a_read_that_fails_ends_the_embedding_and_is_the_error(
    call: Callable[[Fleet], Awaitable[object]], tmp_path: Path
) -> None:
    store, embedder = WaitingStore(tmp_path / "m.db"), WaitingEmbedder(anyio.sleep_forever)

    async def fail() -> None:
        await embedder.is_asked.wait()
        raise StoreUnavailableError("The disk is gone.")

    store.wait = fail
    with anyio.fail_after(20), pytest.raises(StoreUnavailableError, match="The disk is gone"):
        await call(fleet_of(store, embedder))
    assert embedder.was_cancelled
    await store.close()


async def test_stores_that_wait_for_the_first_share_a_commit(tmp_path: Path) -> None:
    store, embedder = WaitingStore(tmp_path / "m.db"), WaitingEmbedder()
    all_asked = anyio.Event()

    async def until_all_are_asked() -> None:
        if len(embedder.texts) == 4:
            all_asked.set()
        await all_asked.wait()

    embedder.wait = until_all_are_asked
    fleet = fleet_of(store, embedder)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(store_memory, fleet, "basher", lesson(f"Lesson {number} of four"))
    assert (store.commits, store.reads) == (2, 2)
    assert len((await fleet.programs.read("basher")).patterns) == 4
    await store.close()


@pytest.mark.parametrize("call", [store_one, end_session])
async def test_other_changes_of_the_program_commit_while_a_lesson_is_embedded(
    call: Callable[[Fleet], Coroutine[object, object, object]], tmp_path: Path
) -> None:
    is_noted = anyio.Event()
    store, embedder = WaitingStore(tmp_path / "m.db"), WaitingEmbedder(is_noted.wait)
    fleet = fleet_of(store, embedder)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, fleet)
            await embedder.is_asked.wait()
            await store.is_read.wait()
            await write_note(fleet, "basher", text="Deploys are frozen")
            is_noted.set()
    program = await fleet.programs.read("basher")
    assert [note.text for note in program.notes.values()] == ["Deploys are frozen"]
    assert [(pattern.pattern, pattern.embedder) for pattern in program.patterns.values()] == [
        ("Pin versions", "lexical/1")
    ]
    assert embedder.texts == ["Pin versions"]
    await store.close()


async def test_a_store_that_is_cancelled_while_it_is_embedded_leaves_its_program_free(
    tmp_path: Path,
) -> None:
    store, embedder = WaitingStore(tmp_path / "m.db"), WaitingEmbedder(anyio.sleep_forever)
    fleet = fleet_of(store, embedder)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store_one, fleet)
            await embedder.is_asked.wait()
            await store.is_read.wait()
            tasks.cancel_scope.cancel()
        assert not fleet.programs.is_busy("basher")
        await write_note(fleet, "basher", text="Deploys are frozen")
    assert (store.commits, embedder.was_cancelled) == (1, True)
    await store.close()
