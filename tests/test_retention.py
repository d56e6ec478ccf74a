"""Retention: maintenance deletes tokens that ended long ago, and lines of the archive as the policy
says.
"""

from datetime import timedelta

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import (
    DELETED_AT_ONCE,
    maintain_fleet,
)
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.schemas.programs import ArchivedNote, Note
from tests.fleets import NOW, at

pytestmark = pytest.mark.anyio


async def archive(fleet: Fleet, days_ago: float, count: int = 1) -> None:
    moment = NOW - timedelta(days=days_ago)
    notes = [Note(id=f"n{number}", text=f"{days_ago}", at=moment) for number in range(count)]
    records = [
        ArchivedNote(program_id="basher", note=note, reason="cap", at=moment) for note in notes
    ]
    await fleet.programs.store.commit(*map(fleet.programs.archive.write, records))


async def left(fleet: Fleet) -> list[str]:
    return sorted({str(row["text"]) for row in await list_archive(fleet, "basher")})


async def test_the_archive_is_kept_for_ever_without_a_retention(fleet: Fleet) -> None:
    await archive(fleet, 3_000)
    assert (await maintain_fleet(at(fleet, NOW), no_progress)).expired is None
    assert await left(fleet) == ["3000"]


async def test_lines_older_than_the_retention_go_however_many(fleet: Fleet) -> None:
    fleet = at(fleet, NOW)
    await set_policy(fleet, ["retentionDays", "30"])
    for days_ago, count in ((29.9, 1), (30.1, 2), (400, 2 * DELETED_AT_ONCE)):
        await archive(fleet, days_ago, count)
    assert (await maintain_fleet(fleet, no_progress, dry_run=True)).expired == DELETED_AT_ONCE
    assert await left(fleet) == ["29.9", "30.1", "400"]
    assert (await maintain_fleet(fleet, no_progress)).expired == 2 * DELETED_AT_ONCE + 2
    assert await left(fleet) == ["29.9"]
    assert (await maintain_fleet(fleet, no_progress)).expired == 0
