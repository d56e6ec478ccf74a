"""The sweep as a job: faded lessons are archived, agents that write meanwhile come first, and a
lost lease ends it.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.errors import LeaseLostError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import MAINTAINER_LEASE, FencedWriter, leased
from fleet_memory.jobs.maintenance import ArchivedLesson, Sweep, refresh_snapshot
from fleet_memory.repositories.snapshots import ABSENT_ENTRY
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.stores import Ref, Write
from tests.fleets import FLEET, NOW, at, documents, interrupted, lease_to_another, writing
from tests.lessons import pattern
from tests.test_entry_documents import KEY, entry

pytestmark = pytest.mark.anyio

FADED = NOW + timedelta(days=181)  # a lesson of NOW is prunable
SNAPSHOT = Ref(f"fleets/{FLEET}/snapshots", "s0")


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def learn(
    fleet: Fleet, name: str, *ids: str, when: datetime = NOW, key: str | None = None
) -> None:
    """Add lessons to a program, learnt at that moment."""

    def lesson(id_: str) -> Pattern:
        return pattern(
            id=id_, discovered_at=when, last_reinforced=when, stored_at=when, knowledge_key=key
        )

    await fleet.programs.update(
        name,
        lambda known: ProgramChange(
            replace(known, patterns={**known.patterns, **{id_: lesson(id_) for id_ in ids}})
        ),
        when,
    )


async def sweep(fleet: Fleet) -> list[str]:
    """Sweep under the lease, and return the archived lessons."""
    async with leased(fleet) as writer:
        assert writer is not None
        return names(await Sweep(fleet, writer).run(fleet.now()))


def names(archived: list[ArchivedLesson]) -> list[str]:
    return sorted(f"{lesson.program_id}/{lesson.pattern_id}" for lesson in archived)


async def test_a_lesson_is_archived_the_moment_after_its_last_day(fleet: Fleet) -> None:
    await learn(fleet, "basher", "mine")
    assert await sweep(at(fleet, NOW + timedelta(days=180))) == []
    assert await sweep(at(fleet, NOW + timedelta(days=180, seconds=1))) == ["basher/mine"]
    after = await fleet.programs.read("basher")
    assert (after.patterns, after.pending) == ({}, ("mine",))
    assert len(await fleet.programs.archive.of_program("basher")) == 1


async def test_a_promoted_lesson_is_archived_too_and_its_entry_is_as_it_was(fleet: Fleet) -> None:
    for name in ("basher", "iso"):
        await learn(fleet, name, "p1", key=KEY)
    known = entry(KEY, "basher", "iso")
    await fleet.knowledge.store.commit(
        *fleet.knowledge.writes(ABSENT_ENTRY, known, by="x", why="", now=NOW, commit_id="c1")
    )
    before = await fleet.knowledge.found(KEY)
    assert await sweep(at(fleet, FADED)) == ["basher/p1", "iso/p1"]
    assert await fleet.knowledge.found(KEY) == before


async def test_a_program_that_is_written_at_that_moment_is_left_to_the_next_sweep(
    fleet: Fleet,
) -> None:
    for name in ("basher", "sark"):
        await learn(fleet, name, "mine")
    later = at(fleet, FADED)
    meanwhile = interrupted(
        later, writing("archive"), lambda: learn(later, "basher", "new", when=FADED)
    )
    assert await sweep(meanwhile) == ["sark/mine"]
    assert sorted((await fleet.programs.read("basher")).patterns) == ["mine", "new"]
    assert await sweep(later) == ["basher/mine"]
    assert sorted((await fleet.programs.read("basher")).patterns) == ["new"]


async def test_a_sweep_that_loses_its_lease_archives_nothing(fleet: Fleet) -> None:
    await learn(fleet, "basher", "mine")
    before = await documents(fleet)
    later = at(fleet, FADED)
    overtaken = interrupted(
        later,
        writing("archive"),
        lambda: lease_to_another(later, MAINTAINER_LEASE, timedelta(hours=1)),
    )
    with pytest.raises(LeaseLostError, match="taken over"):
        await sweep(overtaken)
    assert await documents(fleet) == before


async def test_a_dry_run_names_the_lessons_that_a_sweep_would_archive_and_writes_nothing(
    fleet: Fleet,
) -> None:
    expected = [f"program-{number}/mine" for number in range(6)]  # more than are looked at together
    for number in range(6):
        await learn(fleet, f"program-{number}", "mine")
    await learn(at(fleet, FADED), "young", "mine", when=FADED)
    later = at(fleet, FADED)
    before = await documents(fleet)
    assert names(await Sweep(later, FencedWriter(later)).run(FADED)) == expected
    assert await documents(fleet) == before
    assert await sweep(later) == expected


async def publish(fleet: Fleet) -> list[str]:
    async with leased(fleet) as writer:
        assert writer is not None
        await writer.publish()
    return [row.key for row in (await fleet.knowledge.snapshots.read()).rows]


@pytest.mark.parametrize("damage", ["lost", "older"])
async def test_a_snapshot_that_was_damaged_shows_every_entry_again(
    fleet: Fleet, damage: str
) -> None:
    await learn(fleet, "basher", "mine")
    await fleet.programs.update(
        "basher", lambda known: ProgramChange(replace(known, read_version=7)), NOW
    )
    assert await publish(fleet) == []
    (older,) = await fleet.knowledge.store.get(SNAPSHOT)
    assert older is not None
    known = entry(KEY, "basher", "iso")
    await fleet.knowledge.store.commit(
        *fleet.knowledge.writes(ABSENT_ENTRY, known, by="x", why="", now=NOW, commit_id="c1")
    )
    assert await publish(fleet) == [KEY]
    await fleet.knowledge.store.commit(Write(SNAPSHOT, older.fields if damage == "older" else None))
    assert await publish(fleet) == []
    async with leased(fleet) as writer:
        assert writer is not None
        assert await refresh_snapshot(fleet, FencedWriter(fleet)) == 1
        assert await refresh_snapshot(fleet, writer) == 1
    assert await publish(fleet) == [KEY]
    assert await refresh_snapshot(fleet, FencedWriter(fleet)) == 0
