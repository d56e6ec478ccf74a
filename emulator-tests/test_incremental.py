"""A run looks at changes alone, and leaves the same documents as one that looks at everything."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from fleets import NOW, consolidate, fleet_on, learn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.stores import Document, Json, Query, Ref, Store
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.state import forget_memory
from tests.bounds import examples
from tests.fleets import at, show
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

TEXTS: Final = (
    "Check that a task is still free before you claim it",
    "Make sure a task is free before claiming it",
    "Claim a task only while it is free",
    "Never claim a task that is not free",
    "Run the tests before you push",
    "Run all tests before every push",
    "Rotate the context before it is full",
)
OWN: Final = {"commits", "ledger"}  # fields with ids of commits, new each time


class Counting(ForwardingStore):
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


steps = st.one_of(
    st.tuples(st.just("store"), st.integers(0, 3), st.sampled_from(TEXTS), st.sampled_from("abc")),
    st.tuples(st.just("store"), st.integers(0, 3), st.sampled_from(TEXTS), st.sampled_from("abc")),
    st.tuples(st.just("reinforce"), st.integers(0, 3)),
    st.tuples(st.just("forget"), st.integers(0, 3)),
    st.tuples(
        st.just("judge"), st.sampled_from(["same", "same", "different", "contradict", "unsure"])
    ),
    st.tuples(st.just("wait"), st.sampled_from([1, 30, 95])),
)
RUN: Final = ("run",)
Step = tuple[Any, ...]  # a word, and its arguments


@asynccontextmanager
async def fleets(folder: Path, count: int) -> AsyncIterator[list[Fleet]]:
    stores = [SqliteStore(folder / f"{number}.db") for number in range(count)]
    try:
        yield [fleet_on(store) for store in stores]
    finally:
        for store in stores:
            await store.close()


async def live(fleet: Fleet, history: Sequence[Step], run: Callable[[Fleet], Fleet]) -> None:
    """Live a history, with a run after every three steps; `run` returns the server that does the
    next one.
    """
    now = NOW
    for step, *details in (
        one for start in range(0, len(history), 3) for one in (*history[start : start + 3], RUN)
    ):
        now += timedelta(hours=1)
        fleet = at(fleet, now)
        if step == "run":
            fleet = run(fleet)
            await consolidate(fleet)
        elif step == "wait":
            now += timedelta(days=details[0])
        else:
            await take(fleet, step, details)


async def take(fleet: Fleet, step: str, details: Sequence[Any]) -> None:
    if step == "store":
        number, text, id_ = details
        sent = NewPattern(
            pattern=text, domain="work", confidence=0.8, evidence=f"seen by {number}", id=id_
        )
        await store_memory(fleet, f"program-{number}", sent)
    elif step == "judge":
        for pair in (await fleet.pairs.waiting())[:1]:
            sent_verdict = NewVerdict.model_validate(
                {"pairId": pair.pair_id, "verdict": details[0]}
            )
            await show(fleet, pair.a.program_id, pair)
            await judge(
                fleet, Judge(pair.a.program_id), [sent_verdict]
            )  # refused alike if a text has changed since
    else:
        name = f"program-{details[0]}"
        for id_ in list((await fleet.programs.read(name)).patterns)[:1]:
            await (
                reinforce_memory(fleet, name, id_)
                if step == "reinforce"
                else forget_memory(fleet, name, id_, "no")
            )


async def left(fleet: Fleet) -> list[tuple[str, str, dict[str, Json]]]:
    """Return every program, entry and pair without the ids of its commits."""
    store = fleet.knowledge.store
    return [
        (
            group,
            document.ref.id,
            {name: value for name, value in document.fields.items() if name not in OWN},
        )
        for group in ("programs", "gsp", "pairs")
        for document in await store.find(Query(f"fleets/default/{group}"))
    ]


@settings(
    max_examples=examples(8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(history=st.lists(steps, min_size=6, max_size=15))
@example(  # a word that a warm server did not read, about a lesson that joins an entry
    history=[
        *[("reinforce", 0)] * 2,
        ("store", 0, TEXTS[2], "a"),
        *[("reinforce", 0)] * 2,
        ("store", 1, TEXTS[2], "a"),
    ]
)
async def test_a_warm_server_a_cold_one_and_two_in_turn_leave_the_same(
    history: list[Step], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with fleets(tmp_path_factory.mktemp("triplets"), 3) as (warm, cold, turns):
        memories = [ProposingMemory(), ProposingMemory()]

        def other(fleet: Fleet) -> Fleet:
            memories.reverse()
            return replace(fleet, memory=memories[0])

        await live(warm, history, lambda fleet: fleet)
        await live(cold, history, lambda fleet: replace(fleet, memory=ProposingMemory()))
        await live(turns, history, other)
        assert await left(cold) == await left(warm)
        assert await left(turns) == await left(warm)


async def test_a_run_after_a_run_changes_nothing(store: Store) -> None:
    fleet = fleet_on(store)
    for number, text in enumerate(TEXTS):
        await take(fleet, "store", (number, text, "a"))
        await take(fleet, "store", (number, TEXTS[0], "b"))
    await consolidate(fleet)
    before = await left(fleet)
    assert {group for group, _, _ in before} == {"programs", "gsp", "pairs"}
    again = await consolidate(fleet)
    assert (again.promoted, again.updated, await left(fleet)) == ((), (), before)
    await maintain_fleet(fleet, no_progress, rebuild=True)
    assert await left(fleet) == before


async def test_a_warm_server_reads_programs_that_changed_even_if_another_server_considered_them(
    open_store: Callable[[], Store],
) -> None:
    counting = Counting(open_store())
    one, other = fleet_on(counting), fleet_on(open_store())
    for program in range(12):
        await learn(one, f"program-{program}", *(f"{program}-{number}" for number in range(4)))
    await consolidate(one)
    await consolidate(other)
    counting.read.clear()
    await consolidate(one)
    assert (
        counting.read.count("programs") == 3
    )  # for changed ones, for the other's run, and for one that died unnoted
    for program in (3, 4):
        await learn(other, f"program-{program}", "shared")
    await consolidate(other)
    counting.read.clear()
    await consolidate(one)
    assert counting.read.count("programs") == 1 + 2 + 1  # and for a run that died unnoted
    await learn(one, "program-5", "shared")
    counting.read.clear()
    await consolidate(one)
    assert (
        counting.read.count("programs") <= 1 + 1 + 1 + 3
    )  # the lesson, its entry, its stamp with its neighbours'
