"""A consolidation looks at what is new, and decides as one that looks at everything."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from fleet_memory.jobs.consolidation import runs
from fleet_memory.jobs.consolidation.scene import RunScope
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet_memory.fleet import Fleet
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.similarity import Profile
from fleet_memory.stores import Document, Query, Ref, Store
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.reinforce_memory import reinforce_memory
from fleet_memory.tools.store_memory import store_memory
from tests.wrapped import Wrapped

pytestmark = pytest.mark.anyio

TOPICS = ("amber", "beryl", "coral", "diamond", "emerald", "flint", "garnet", "heliodor")
NUDGES = ("alder", "birch", "cedar", "date", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper", "kapok", "larch")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Directions:
    """An embedder whose texts name their own direction: "amber elm" is close to every other "amber …"."""

    name = "directions/1"
    profile = Profile()
    degraded = ""

    async def ready(self) -> None:
        """Nothing to load."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), 16), np.float32)
        for row, text in enumerate(texts):
            topic, nudge = (words.index(word) for words, word in zip((TOPICS, NUDGES), text.split(), strict=False))
            rows[row, topic] = 1.0
            rows[row, 8 + nudge % 8] = 0.2 + 0.1 * (nudge % 7)
        directions: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return directions


class Counting(Wrapped):
    """A store that counts the documents it reads."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.read: list[str] = []

    async def get(self, *refs: Ref) -> list[Document | None]:
        self.read += [ref.collection.rpartition("/")[2] for ref in refs]
        return await super().get(*refs)

    async def find(self, query: Query) -> list[Document]:
        found = await super().find(query)
        self.read += [query.collection.rpartition("/")[2]] * max(1, len(found))
        return found


class Clock:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at


def fleet_on(store: Store, clock: Clock) -> Fleet:
    return Fleet.on(store, "default", Directions(), clock)


def lesson(text: str, domain: str) -> NewPattern:
    return NewPattern.model_validate({"pattern": text, "domain": domain, "confidence": 0.8, "evidence": ""})


async def quietly(_done: float, _total: float, _message: str) -> None: ...


async def consolidate(fleet: Fleet, threshold: int = 2, *, rebuild: bool = False) -> dict[str, Any]:
    report = await runs.consolidate(fleet, RunScope(threshold, fleet.now(), rebuild=rebuild), quietly)
    return {
        "promoted": sorted(entry.value.pattern for entry, _ in report.promoted),
        "updated": sorted(report.updated),
        "echoes": report.echoes,
        "waiting": report.waiting,
        "pairs": sorted(pair.pair_id for pair in report.pairs),
    }


async def known(store: Store) -> list[str]:
    entries = await store.find(Query("fleets/default/gsp"))
    return sorted(str((entry.fields["key"], entry.fields["value"])) for entry in entries)


steps = st.one_of(
    st.tuples(
        st.just("store"), st.integers(0, 3), st.sampled_from(TOPICS), st.sampled_from(NUDGES), st.sampled_from("abc")
    ),
    st.tuples(st.just("reinforce"), st.integers(0, 3)),
    st.tuples(st.just("wait"), st.sampled_from([1, 30, 95])),
    st.tuples(st.just("consolidate"), st.sampled_from([2, 2, 2, 3])),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(steps, min_size=4, max_size=40))
async def test_an_incremental_run_decides_as_a_rebuild_from_the_truth(
    history: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("twins")
    clock = Clock()
    stores = [SqliteStore(folder / "incremental.db"), SqliteStore(folder / "rebuilt.db")]
    incremental, rebuilt = (fleet_on(store, clock) for store in stores)
    try:
        for step, *details in [*history, ("consolidate", 2)]:
            clock.at += timedelta(hours=1)
            if step == "consolidate":
                one = await consolidate(incremental, details[0])
                two = await consolidate(rebuilt, details[0], rebuild=True)
                assert one == two
                assert await known(stores[0]) == await known(stores[1])
                again = await consolidate(incremental, details[0])
                assert (again["promoted"], again["updated"], again["echoes"]) == ([], [], 0)
            for fleet in (incremental, rebuilt):
                await _take(fleet, clock if fleet is rebuilt else Clock(), step, details)
    finally:
        for store in stores:
            await store.close()


async def _take(fleet: Fleet, clock: Clock, step: str, details: list[Any]) -> None:
    if step == "store":
        program, topic, nudge, domain = details
        await store_memory(fleet, f"program-{program}", lesson(f"{topic} {nudge}", domain))
    elif step == "reinforce":
        program = await fleet.programs.read(f"program-{details[0]}")
        for id_ in list(program.patterns)[:1]:
            await reinforce_memory(fleet, program.program_id, id_)
    elif step == "wait":
        clock.at += timedelta(days=details[0])


async def test_a_run_reads_the_programs_that_changed_and_the_shards_they_touch(
    open_store: Callable[[], Store],
) -> None:
    clock = Clock()
    counting = Counting(open_store())
    fleet = fleet_on(counting, clock)
    for program in range(12):
        for number in range(4):
            text = f"{TOPICS[program % 8]} {NUDGES[number]} {program}"
            await store_memory(fleet, f"program-{program}", lesson(text, f"domain{'abcdefgh'[number]}"))
    await consolidate(fleet)
    for program in (3, 4):
        await store_memory(fleet, f"program-{program}", lesson("garnet hazel", "domaina"))
    counting.read.clear()
    await consolidate(fleet)
    assert counting.read.count("programs") <= 2 + 3 + 2  # those that changed, the contributors, and clearing the former
    assert counting.read.count("waiting") <= 2 + 4  # index and pairs; a small fleet's domains are one topic
    assert counting.read.count("snapshots") <= 6
    counting.read.clear()
    await consolidate(fleet)
    assert counting.read.count("programs") == 1  # the query for changed programs, which found none
