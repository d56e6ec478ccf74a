"""A server's clock follows the store's where this machine's is wrong, and a chosen time follows
nothing.
"""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleet_memory.clock import MAX_OFFSET, StoreClock, clock
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.engines import ServedStore, StoreUse
from fleet_memory.settings import Settings
from fleet_memory.stores import Query, Ref, Store, Write
from fleet_memory.stores.sqlite import SqliteStore
from tests.wrapped import ForwardingStore

TRUE = datetime(2026, 3, 7, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
ENTRY = Ref("fleets/f1/gsp", "entry")


class Machine:
    """A machine whose clock is `off` from the store's; `clock` is the server's on it. Time passes
    by hand.
    """

    def __init__(self, off: timedelta) -> None:
        self.off = off
        self.true = TRUE
        self.clock = StoreClock(lambda: self.true + self.off)

    def hear(self, waited: timedelta = timedelta(0)) -> None:
        """Commit: the store does it at once, the answer comes after `waited`."""
        asked_at, store_time = self.clock.uncorrected(), self.true
        self.true += waited
        self.clock.observe(store_time, asked_at)

    @property
    def error(self) -> timedelta:
        return self.clock() - self.true


@pytest.mark.parametrize("off", [timedelta(0), 60 * SECOND, -60 * SECOND])
def test_up_to_a_minute_is_left_alone(off: timedelta, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(off)
    machine.hear()
    assert (machine.error, caplog.messages) == (off, [])


@pytest.mark.parametrize(
    ("off", "words"),
    [(61 * SECOND, "is -61 seconds from this machine's"), (-HOUR, "is +3600 seconds")],
)
def test_a_clock_that_is_further_off_stamps_with_the_stores_time_and_warns_of_each_correction(
    off: timedelta, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(off)
    for _ in range(3):
        machine.hear()
        assert machine.error == timedelta(0)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert words in record.getMessage()
    machine.off += 2 * HOUR
    machine.hear()
    assert machine.error == timedelta(0)
    assert len(caplog.records) == 2


@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_latency_does_not_move_a_clock_that_is_set(off: timedelta) -> None:
    machine = Machine(off)
    machine.hear()
    for waited in (SECOND, 50 * SECOND, timedelta(0)):
        machine.hear(waited)
        assert machine.error == timedelta(0)


@pytest.mark.parametrize(
    ("before", "after"), [(HOUR, timedelta(0)), (timedelta(0), HOUR), (-HOUR, timedelta(0))]
)
def test_a_clock_that_is_put_right_during_a_commit_is_not_corrected_twice(
    before: timedelta, after: timedelta
) -> None:
    machine = Machine(before)
    asked_at = machine.clock.uncorrected()
    machine.off = after
    machine.clock.observe(machine.true, asked_at)
    machine.hear()
    assert abs(machine.error) <= MAX_OFFSET


def test_two_commits_at_once_correct_once() -> None:
    machine = Machine(HOUR)
    asked_at = machine.clock.uncorrected()
    machine.hear()
    machine.clock.observe(machine.true, asked_at)
    assert machine.error == timedelta(0)


class Elsewhere(ForwardingStore):
    """A store on a server where it is another time."""

    def __init__(self, store: Store, time: datetime) -> None:
        super().__init__(store)
        self._time = time

    async def commit(self, *writes: Write) -> datetime:
        await super().commit(*writes)
        return self._time


@pytest.mark.anyio
async def test_each_commit_sets_the_clock_and_an_empty_one_does_not(tmp_path: Path) -> None:
    machine = Machine(HOUR)
    store = ServedStore(
        Elsewhere(SqliteStore(tmp_path / "memory.db"), TRUE), StoreUse(), machine.clock
    )
    assert await store.commit() == TRUE
    assert machine.clock() == TRUE + HOUR
    assert await store.commit(Write(ENTRY, {"n": 1})) == TRUE
    assert machine.clock() == TRUE
    (entry,) = await store.find(Query("fleets/f1/gsp"))
    assert [entry] == await store.get(ENTRY)
    assert await store.total(Query("fleets/f1/gsp")) == 1
    assert (await store.check()).documents == {"gsp": 1}
    await store.close()


@pytest.mark.anyio
async def test_a_server_follows_its_store_unless_its_time_was_chosen(settings: Settings) -> None:
    followed = {}
    for start in (None, TRUE):
        lazy = LazyFleet(settings, clock(start))
        store = (await lazy.fleet()).knowledge.store
        assert isinstance(store, ServedStore)
        followed[start] = store._clock is not None
        await lazy.close()
    assert followed == {None: True, TRUE: False}
