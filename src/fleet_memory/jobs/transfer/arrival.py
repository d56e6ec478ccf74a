"""The note that memory came from elsewhere, for every server of the fleet."""

from dataclasses import replace

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.retrying import retry_conflicts


async def note_arrival(fleet: Fleet) -> None:
    """Make every maintainer read the whole fleet again, and consider every lesson."""

    async def attempt() -> None:
        before = await fleet.last_runs.read()
        after = replace(before.last, epoch=before.last.epoch + 1)
        await fleet.programs.store.commit(fleet.last_runs.write(before, after))

    await retry_conflicts(attempt, "the note of the last run")
