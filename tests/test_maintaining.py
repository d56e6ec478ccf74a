"""Maintenance as a job: no lesson leaves by age, and a damaged snapshot is whole again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.publishing import leased
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.stores import Ref
from tests.fleets import FLEET, NOW, at
from tests.lessons import pattern

pytestmark = pytest.mark.anyio

SNAPSHOT = Ref(f"fleets/{FLEET}/snapshots", "head")


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def learn(fleet: Fleet, name: str, *ids: str) -> None:
    """Add lessons to a program."""

    def lesson(id_: str) -> Pattern:
        return pattern(id=id_, pattern=id_, discovered_at=NOW, last_reinforced=NOW, stored_at=NOW)

    await fleet.programs.update(
        name,
        lambda known: ProgramChange(
            replace(known, patterns={**known.patterns, **{id_: lesson(id_) for id_ in ids}})
        ),
        NOW,
    )


async def test_no_lesson_leaves_by_age(fleet: Fleet) -> None:
    await learn(fleet, "basher", "mine", "shared")
    await learn(fleet, "iso", "shared")
    await maintain_fleet(fleet, no_progress)
    await maintain_fleet(at(fleet, NOW + timedelta(days=3_650)), no_progress)
    assert {*(await fleet.programs.read("basher")).patterns} == {"mine", "shared"}
    assert await fleet.programs.archive.of_program("basher") == []


async def publish(fleet: Fleet) -> list[str]:
    async with leased(fleet) as writer:
        assert writer is not None
        await writer.publish()
    return [row.key for row in (await fleet.knowledge.snapshots.read()).rows]
