"""A fleet of any size and any clock goes on: no document, commit, lease or comparison grows until
nothing works.
"""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.publishing import LEASE_S, MAINTAINER_LEASE
from fleet_memory.repositories.runs import take
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Store, Write
from tests.fleets import documents, on
from tests.living import MINUTE, Json, Machine, called, lesson
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

PINNED = "Pin the compiler version in CI"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_a_run_that_was_killed_under_a_clock_ahead_does_not_block_publishing(
    machine: Machine,
) -> None:
    async def killed_ahead(fleet: Fleet) -> None:
        ahead = machine.now + timedelta(days=300)
        lease = fleet.knowledge.paths.lease(MAINTAINER_LEASE)
        assert await take(fleet.knowledge.store, lease, "killed", now=ahead, ttl_s=LEASE_S)

    await machine.people(killed_ahead)
    await machine.share(PINNED, "basher", "iso")
    assert await machine.knowledge() == {PINNED: "fresh"}


@pytest.mark.parametrize("rebuild", [False, True])
async def test_a_run_under_a_clock_ahead_loses_no_lesson_for_later_runs(
    machine: Machine, rebuild: bool
) -> None:
    await machine.store_lesson("basher", PINNED)
    await machine.consolidate()
    machine.later(days=120)
    await machine.consolidate()
    machine.later(days=-120)
    await machine.store_lesson("iso", PINNED)
    machine.later(days=1)
    maintained = await machine.people(
        partial(maintain_fleet, progress=no_progress, rebuild=rebuild)
    )
    (key,) = maintained.promoted
    assert (await machine.entry(key))["contributors"] == ["basher", "iso"]


async def test_words_and_consolidations_at_once_are_all_carried_out(machine: Machine) -> None:
    key = await machine.share(PINNED, "basher", "iso")
    answers: list[Json] = []
    async with machine.connection() as client, anyio.create_task_group() as calls:

        async def confirm(program: str) -> None:
            about = {
                "programId": program,
                "patternId": key,
                "evidence": f"{program} saw it fail twice",
            }
            answers.append(await called(client, "reinforce_memory", **about))

        async def consolidate() -> None:
            answers.append(await called(client, "pattern_consolidate"))

        for number in range(20):
            calls.start_soon(confirm, f"program-{number}")
        for _ in range(6):
            calls.start_soon(consolidate)
    assert len(answers) == 26
    machine.now += MINUTE
    assert (await machine.entry(key))["confirmations"] == 20


class Mirrored(Lexical):
    """Another embedder, by name."""

    name = "mirrored/1"


class LargestCommit(ForwardingStore):
    """A store that remembers the size of its largest commit, in characters of values."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.largest = 0

    async def commit(self, *writes: Write) -> datetime:
        size = sum(len(str(value)) for write in writes for value in (write.fields or {}).values())
        self.largest = max(self.largest, size)
        return await super().commit(*writes)


async def test_another_embedder_rewrites_the_fleet_in_commits_of_one_document(
    machine: Machine,
) -> None:
    for program in range(20):
        for session in range(2):
            patterns = [
                lesson(f"{program}-{session}-{n}", domain="d", evidence="e" * 1_500)
                for n in range(20)
            ]
            about = {
                "programId": f"p-{program}",
                "requestId": f"session-{session}",
                "patterns": patterns,
            }
            await machine.call(f"p-{program}", "commit_session", **about)
    await machine.consolidate()

    async def move(fleet: Fleet) -> int:
        store = LargestCommit(fleet.knowledge.store)
        moving = replace(on(fleet, store), embedder=Mirrored())
        assert (await maintain_fleet(moving, no_progress, rebuild=True)).embedded == 800
        return store.largest

    programs = [
        document
        for document in await machine.people(documents)
        if "/programs" in document.ref.collection
    ]
    largest = max(len(str(document.fields)) for document in programs)
    assert await machine.people(move) < 1.2 * largest
    known = Counter[str]()

    async def count(fleet: Fleet) -> None:
        for one in await fleet.programs.all():
            known.update(str(pattern.embedder) for pattern in one.program.patterns.values())

    await machine.people(count)
    assert known == {"mirrored/1": 800}
