"""Calls under way at once: neither waits for the other, and an error of one is that error."""

from collections.abc import Sequence

import anyio
import pytest

from fleet_memory.errors import ConflictError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.together import run_all
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Document, Query, Ref, Store
from tests.fleets import FLEET
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

WAIT_S = 60.0  # bounds a hang


class Meeting:
    """Its members leave when all of them have come; who waits alone fails."""

    def __init__(self, members: int) -> None:
        self.missing = members
        self.is_full = anyio.Event()

    async def join(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.is_full.set()
        with anyio.fail_after(WAIT_S):
            await self.is_full.wait()


class MeetingStore(ForwardingStore):
    """A store that answers each read at the meeting of the next reads."""

    def __init__(self, store: Store, *meetings: int) -> None:
        super().__init__(store)
        self.meetings = [
            meeting for members in meetings for meeting in [Meeting(members)] * members
        ]

    async def get(self, *refs: Ref) -> list[Document | None]:
        await self.join()
        return await super().get(*refs)

    async def total(self, query: Query, field: str | None = None) -> int:
        await self.join()
        return await super().total(query, field)

    async def join(self) -> None:
        await self.meetings.pop(0).join()


class MeetingEmbedder(Lexical):
    """An embedder that answers at a meeting of its store's."""

    def __init__(self, store: MeetingStore) -> None:
        super().__init__()
        self.store = store

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        await self.store.join()
        return await super().vectors(texts)


def meeting(fleet: Fleet, *meetings: int) -> Fleet:
    store = MeetingStore(fleet.knowledge.store, *meetings)
    return Fleet.on(store, FLEET, MeetingEmbedder(store), fleet.now, fleet.caller)


async def test_two_calls_are_under_way_at_once_and_return_in_order() -> None:
    room = Meeting(2)

    async def first() -> int:
        await room.join()
        return 1

    async def second() -> str:
        await room.join()
        return "2"

    assert await run_all(first, second) == (1, "2")


@pytest.mark.parametrize("error", [ConflictError("moved"), ValueError("a defect")])
async def test_an_error_leaves_as_it_is_and_ends_the_other_call(error: Exception) -> None:
    async def fail() -> None:
        raise error

    for calls in ((fail, anyio.sleep_forever), (anyio.sleep_forever, fail)):
        with anyio.fail_after(WAIT_S), pytest.raises(type(error)) as raised:
            await run_all(*calls)
        assert raised.value is error


async def test_a_commit_that_has_begun_is_finished_although_the_call_beside_it_fails() -> None:
    done = list[str]()

    async def fail() -> None:
        await anyio.sleep(0.01)
        raise ValueError("a defect")

    async def commit() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.05)
            done.append("committed")

    with anyio.fail_after(WAIT_S), pytest.raises(ValueError, match="a defect"):
        await run_all(commit, fail)
    assert done == ["committed"]
