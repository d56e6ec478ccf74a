"""A server maintains its fleet in the background, once it is used, and publishes changes that had
to wait.

The jobs are imported once a call has opened the fleet: start-up waits for none of them.
"""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from fleet_memory.jobs.maintenance import maintain_if_due
from fleet_memory.jobs.publishing import PUBLISH_EVERY_S, publish_if_due, publish_last
from fleet_memory.server.composition import LazyFleet

LAST_PUBLICATION_S: Final = (
    1.0  # seconds of a server's end; chosen. A change that is not published stays marked
)
FIRST_AFTER_S: Final = 60.0  # seconds from the first tool call: a short session is not slowed down


@asynccontextmanager
async def background_work(
    lazy: LazyFleet, every_s: float, publish_every_s: float | None = None
) -> AsyncIterator[None]:
    """Maintain a fleet in the background while inside, `every_s` seconds (0 for never), and publish
    when asked to.

    Publications are `publish_every_s` seconds apart, `PUBLISH_EVERY_S` unless given. At the end it
    publishes once more if a change ever had to wait.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_publish, lazy, publish_every_s)
        if every_s:
            tasks.start_soon(_maintain, lazy, every_s)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()
            with anyio.move_on_after(LAST_PUBLICATION_S, shield=True):
                if (
                    lazy.has_waited
                ):  # the next session may begin long before a server maintains the fleet
                    await publish_last(await lazy.fleet())


async def _maintain(lazy: LazyFleet, every_s: float) -> None:
    fleet = await lazy.once_open()  # a client that calls no tool opens no store
    wait_s = min(FIRST_AFTER_S, every_s)
    while True:
        await anyio.sleep(_jittered(wait_s))
        wait_s = await maintain_if_due(fleet, every_s)


async def _publish(lazy: LazyFleet, every_s: float | None) -> None:
    """Publish changes that came too soon after the last snapshot; one wait covers all that come
    meanwhile.
    """
    fleet = await lazy.once_open()
    while True:
        await lazy.publication_wanted()
        await anyio.sleep(_jittered(PUBLISH_EVERY_S if every_s is None else every_s))
        await publish_if_due(fleet)


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(1.0, 1.2)  # noqa: S311 - spreads servers, guards no secret
