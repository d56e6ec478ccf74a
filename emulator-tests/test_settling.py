"""Counting after a kill: a commit that lands between two reads is counted whole, a half commit
stays half.
"""

import pytest
from settling import settled

from fleet_memory.stores import Document, Query, Ref, Store, Write
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

PROGRAM, LINE = Ref("fleets/f1/programs", "basher"), Ref("fleets/f1/ledger", "l1")
LEFT = (Write(PROGRAM, {"n": 1}), Write(LINE, {"n": 1}))  # the last commit of a server that is dead


class Late(ForwardingStore):
    """A store that carries out a commit after a number of reads: as Firestore may, when its client
    was killed.
    """

    def __init__(self, store: Store, after_reads: int, *writes: Write) -> None:
        super().__init__(store)
        self._left = after_reads
        self._writes = writes

    async def find(self, query: Query) -> list[Document]:
        documents = await super().find(query)
        self._left -= 1
        if self._left == 0:
            await self.commit(*self._writes)
        return documents


async def effects(store: Store) -> tuple[int, int]:
    """Count the two documents of a commit, one read after the other."""
    return len(await store.find(Query(PROGRAM.collection))), len(
        await store.find(Query(LINE.collection))
    )


async def test_a_commit_that_lands_between_two_reads_is_counted_whole(store: Store) -> None:
    late = Late(store, 1, *LEFT)
    assert await effects(late) == (0, 1)  # torn: this is the race
    for write in LEFT:
        await store.commit(Write(write.ref, None))
    late = Late(store, 1, *LEFT)
    assert await settled(lambda: effects(late)) == (1, 1)


@pytest.mark.parametrize("after_reads", range(1, 8))
async def test_whenever_a_commit_lands_the_count_is_whole(
    store: Store, after_reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("settling.QUIET_S", 0)  # a busy machine reads little in that time
    late = Late(store, after_reads, *LEFT)
    assert await settled(lambda: effects(late)) == (1, 1)


@pytest.mark.parametrize("half", LEFT)
async def test_a_commit_that_was_applied_by_half_is_still_seen(store: Store, half: Write) -> None:
    late = Late(store, 1, half)
    assert sorted(await settled(lambda: effects(late))) == [0, 1]


async def test_a_store_that_never_comes_to_rest_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("settling.HANG_S", 0.5)
    counts = iter(range(10**9))

    async def count() -> int:
        await store.find(Query(LINE.collection))
        return next(counts)

    with pytest.raises(TimeoutError):
        await settled(count)
