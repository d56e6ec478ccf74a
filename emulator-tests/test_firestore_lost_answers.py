"""A write whose answer is lost on the wire: it is not reported as failed, and repeating the call
counts once.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute, TaskGroup, TaskStatus
from emulator import VARIABLE
from fleets import fleet_on, learn, lesson

from fleet_memory.errors import OutcomeUnknownError
from fleet_memory.stores import ABSENT, Document, Query, Ref, Store, Write
from fleet_memory.stores.firestore import FirestoreStore, failures
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.session import SessionNote, commit_session
from tests.bounds import HANG_S
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

ENTRY = Ref("fleets/f1/gsp", "entry")


class Wire:
    """A line to the emulator that can swallow answers, and be cut."""

    def __init__(self, emulator: str) -> None:
        self._host, self._port = emulator.split(":")
        self._lines: set[anyio.CancelScope] = set()
        self.swallows = False

    async def serve(self, *, task_status: TaskStatus[str]) -> None:
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - anyio's, not Django's
            task_status.started(f"127.0.0.1:{port}")
            await listener.serve(self._connect)

    def cut(self) -> None:
        self.swallows = False
        for line in self._lines:
            line.cancel()

    async def _connect(self, near: ByteStream) -> None:
        async with near, await anyio.connect_tcp(self._host, int(self._port)) as far:
            async with anyio.create_task_group() as both_ways:
                self._lines.add(both_ways.cancel_scope)
                both_ways.start_soon(self._ask, near, far)
                both_ways.start_soon(self._answer, far, near)
            self._lines.discard(both_ways.cancel_scope)

    async def _ask(self, near: ByteStream, far: ByteStream) -> None:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for chunk in near:
                await far.send(chunk)

    async def _answer(self, far: ByteStream, near: ByteStream) -> None:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for chunk in far:
                if not self.swallows:
                    await near.send(chunk)


class Lossy(ForwardingStore):
    """A store whose wire is cut once its next commit has been applied, before the answer is
    through.
    """

    def __init__(self, store: Store, direct: Store, wire: Wire, tasks: TaskGroup) -> None:
        super().__init__(store)
        self._direct, self._wire, self._tasks = direct, wire, tasks
        self.loses = False

    async def commit(self, *writes: Write) -> datetime:
        if self.loses:
            self.loses = False
            self._wire.swallows = True
            before = await self._direct.get(writes[0].ref)
            self._tasks.start_soon(self._cut_when_it_changes, writes[0].ref, before)
        return await super().commit(*writes)

    async def _cut_when_it_changes(self, ref: Ref, before: list[Document | None]) -> None:
        while await self._direct.get(ref) == before:
            pass
        self._wire.cut()


@pytest.fixture
async def lossy(
    project: str, emulator: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Lossy]:
    direct, wire = FirestoreStore(project), Wire(emulator)
    await direct.get(ENTRY)  # opens it, before the variable points to the wire
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            monkeypatch.setenv(VARIABLE, await tasks.start(wire.serve))
            store = FirestoreStore(project)
            yield Lossy(store, direct, wire, tasks)
            await store.close()
            await direct.close()
            tasks.cancel_scope.cancel()


async def test_a_lost_answer_is_no_conflict_with_oneself(lossy: Lossy) -> None:
    for n in range(20):
        (document,) = await lossy.get(ENTRY)
        lossy.loses = True
        with pytest.raises(OutcomeUnknownError) as caught:
            await lossy.commit(Write(ENTRY, {"n": n}, document.revision if document else ABSENT))
        assert str(caught.value) == failures.UNCONFIRMED
        (document,) = await lossy.get(ENTRY)
        assert document is not None
        assert document.fields == {"n": n}


async def test_an_unconditional_write_whose_answer_is_lost_is_simply_repeated(lossy: Lossy) -> None:
    assert await lossy.get(ENTRY) == [None]
    lossy.loses = True
    await lossy.commit(Write(ENTRY, {"n": 1}))
    assert await lossy.total(Query(ENTRY.collection), "n") == 1


async def test_a_store_whose_answer_is_lost_is_settled_and_counts_once(lossy: Lossy) -> None:
    fleet = fleet_on(lossy)
    lossy.loses = True
    assert (await store_memory(fleet, "basher", lesson("a"))).status == "created"
    again = await store_memory(fleet, "basher", lesson("a"))
    assert (again.status, again.patterns_count) == ("unchanged", 1)


async def test_a_reinforcement_whose_answer_is_lost_is_settled_and_counts_once(
    lossy: Lossy,
) -> None:
    fleet = fleet_on(lossy)
    await learn(fleet, "basher", "a")
    lossy.loses = True
    assert (await reinforce_memory(fleet, "basher", "a", request_id="r1")).reinforcements == 1
    again = await reinforce_memory(fleet, "basher", "a", request_id="r1")
    assert again.reinforcements == 1


async def test_a_session_whose_answer_is_lost_is_known_and_counts_once(
    lossy: Lossy,
) -> None:
    fleet = fleet_on(lossy)
    for n in range(10):
        note = SessionNote.model_validate({"text": f"Port 808{n} is taken"})
        lossy.loses = True
        left = await commit_session(fleet, "basher", (lesson(str(n)),), notes=(note,))
        assert [item.status for item in left.patterns or ()] == ["created"]
        assert [item.note_id for item in left.notes or ()] == [f"n{n + 1}"]
    program = await fleet.programs.read("basher")
    assert (len(program.patterns), len(program.notes), program.sessions) == (10, 10, 10)
