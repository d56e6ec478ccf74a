"""On every engine: a program whose verbs take long has a few of them under way, and the others' go
on meanwhile.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final
from weakref import WeakValueDictionary

import anyio
import anyio.lowlevel
import pytest

from fleet_memory.server.engines import (
    MAX_STORE_VERBS,
    ServedStore,
    StoreUse,
    Turns,
    turns_of_call,
)
from fleet_memory.stores import Document, Query, Ref, Store, Write
from tests.bounds import HANG_S
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

CALLS = 40
SLOW: Final = "wren"
VERBS: Final[dict[str, Callable[[Store, str, int], Awaitable[object]]]] = {
    "get": lambda store, program, _: store.get(Ref(_home(program), "0")),
    "find": lambda store, program, _: store.find(Query(_home(program))),
    "total": lambda store, program, _: store.total(Query(_home(program))),
    "commit": lambda store, program, number: store.commit(
        Write(Ref(_home(program), str(number)), {"n": number})
    ),
}


def _home(program: str) -> str:
    return f"fleets/{program}/programs"


class SlowForOne(ForwardingStore):
    """A real engine whose answers to one program come once `may_answer` is set. `most` verbs were
    under way at once.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.may_answer = anyio.Event()
        self.under_way = 0
        self.most = 0

    async def get(self, *refs: Ref) -> list[Document | None]:
        async with self._held(refs[0].collection):
            return await super().get(*refs)

    async def find(self, query: Query) -> list[Document]:
        async with self._held(query.collection):
            return await super().find(query)

    async def total(self, query: Query, field: str | None = None) -> int:
        async with self._held(query.collection):
            return await super().total(query, field)

    async def commit(self, *writes: Write) -> datetime:
        async with self._held(writes[0].ref.collection):
            return await super().commit(*writes)

    @asynccontextmanager
    async def _held(self, collection: str) -> AsyncIterator[None]:
        if collection != _home(SLOW):
            yield
            return
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        yield
        await self.may_answer.wait()
        self.under_way -= 1


@pytest.mark.parametrize("verb", VERBS)
async def test_a_program_with_slow_verbs_does_not_hold_up_another(store: Store, verb: str) -> None:
    engine = SlowForOne(store)
    served, programs = ServedStore(engine, StoreUse()), WeakValueDictionary[str, Turns]()
    ended: list[str] = []

    async def call(program: str, number: int) -> None:
        turns_of_call.set(programs.setdefault(program, Turns()))
        await VERBS[verb](served, program, number)
        ended.append(program)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as flood:
            for number in range(CALLS):
                flood.start_soon(call, SLOW, number)
            while engine.under_way < MAX_STORE_VERBS:
                await anyio.lowlevel.checkpoint()
            async with anyio.create_task_group() as others:
                for number in range(CALLS):
                    others.start_soon(call, "atlas", number)
            assert ended == ["atlas"] * CALLS  # while all of the slow program's wait
            engine.may_answer.set()
    assert ended[CALLS:] == [SLOW] * CALLS
    assert engine.most == MAX_STORE_VERBS
