"""Equal words of many programs join in commits of their own: a program that cannot be written holds
up no others.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.errors import DocumentRejectedError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.proposing import ProposalReport, propose
from fleet_memory.jobs.publishing import leased
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Caller
from fleet_memory.stores import Store, Write
from tests.fleets import NOW, at, learn, on
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
BUSY = "program-00"


class WithoutBusy(ForwardingStore):
    """A store that refuses to let the busy program's lessons join an entry, and commits of many
    programs.
    """

    async def commit(self, *writes: Write) -> datetime:
        names = [write.ref.id for write in writes if write.ref.collection.endswith("/programs")]
        joins = any(write.ref.collection.endswith("/gsp") for write in writes)
        if joins and (BUSY in names or len(names) > 20):
            raise DocumentRejectedError("The store refuses this document")
        return await super().commit(*writes)


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


async def run(fleet: Fleet) -> ProposalReport:
    async with leased(fleet) as writer:
        assert writer is not None
        return await propose(fleet, writer, Policy(), no_progress)


async def all_learn(fleet: Fleet, programs: int) -> None:
    for number in range(programs):
        await learn(fleet, f"program-{number:02}", CLAIM)


async def contributors(fleet: Fleet) -> list[str]:
    return [
        name
        for one in await fleet.knowledge.all()
        if one.entry
        for name in one.entry.value.contributors
    ]


def away(fleet: Fleet) -> Fleet:
    """Return a fleet on another server whose store refuses the busy program."""
    return replace(on(fleet, WithoutBusy(fleet.knowledge.store)), memory=ProposingMemory())


@pytest.mark.parametrize("programs", [5, 45])
async def test_a_program_that_cannot_be_written_holds_up_no_others(
    fleet: Fleet, programs: int
) -> None:
    await all_learn(fleet, programs)
    report = await run(at(away(fleet), NOW + timedelta(hours=1)))
    others = {f"program-{number:02}" for number in range(20, programs)}  # in other commits
    assert {*await contributors(fleet)} == others
    assert len(report.skipped) == 1
    await run(fleet)
    assert len((await fleet.programs.read(BUSY)).patterns) == 1
    assert (await fleet.programs.read(BUSY)).patterns["mine"].knowledge_key is not None


@pytest.mark.parametrize("is_warm", [True, False])
async def test_lessons_that_were_skipped_are_considered_by_the_next_run(
    fleet: Fleet, *, is_warm: bool
) -> None:
    await all_learn(fleet, 2)
    refusing = away(fleet)
    assert len((await run(refusing)).skipped) == 1
    assert await contributors(fleet) == []
    await run(replace(fleet, memory=refusing.memory) if is_warm else fleet)
    assert await contributors(fleet) == [BUSY, "program-01"]


class StampedTogether(ForwardingStore):
    """A store that notes how many programs each commit stamps."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.programs: list[int] = []

    async def commit(self, *writes: Write) -> datetime:
        fields = [
            write.fields or {} for write in writes if write.ref.collection.endswith("/programs")
        ]
        if stamped := sum("run" in changed for changed in fields):
            self.programs.append(stamped)
        return await super().commit(*writes)


async def test_a_run_stamps_one_program_a_commit_so_that_a_call_waits_for_no_more(
    fleet: Fleet,
) -> None:
    for number in range(12):
        await learn(fleet, f"program-{number:02}", f"Rotate the logs of service {number}")
    store = StampedTogether(fleet.knowledge.store)
    await run(on(fleet, store))
    assert store.programs == [1] * 12
    assert await fleet.programs.count_pending() == 0


class Joined(ForwardingStore):
    """A store that notes how many lessons each commit lets join an entry."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.lessons: list[int] = []

    async def commit(self, *writes: Write) -> datetime:
        if any(write.ref.collection.endswith("/gsp") for write in writes):
            self.lessons.append(sum(write.ref.collection.endswith("/programs") for write in writes))
        return await super().commit(*writes)


async def test_equal_words_of_many_programs_are_joined_in_commits_that_a_store_takes(
    fleet: Fleet,
) -> None:
    names = [f"acme/{number:02}" for number in range(20)] + ["beta/00", "beta/01"]
    for name in names:
        await learn(fleet, name, CLAIM)
    store = Joined(fleet.knowledge.store)
    assert (await run(on(fleet, store))).skipped == []
    assert [count for count in store.lessons if count] == [20, 2]
    (entry,) = [each.entry for each in await fleet.knowledge.all()]
    assert entry is not None
    assert {line.program_id for line in entry.provenance} == {*names}
