"""Take a step in a memory file as another process. Arguments: PATH STEP and those of the step."""

import os
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import anyio
from changes import NOW, store

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.state import forget_memory


async def learn(fleet: Fleet, id_: str, text: str) -> None:
    await store(fleet, "basher", id_, text)


async def confirm(fleet: Fleet, id_: str) -> None:
    await reinforce_memory(fleet, "basher", id_, None, "seen again")


async def forget(fleet: Fleet, id_: str) -> None:
    await forget_memory(fleet, "basher", id_, "not needed")


async def publish(fleet: Fleet, text: str) -> None:
    for program in ("iso", "sark"):
        await store(fleet, program, "shared", text)
    await maintain_fleet(fleet, no_progress)


STEPS: Final[dict[str, Callable[..., Awaitable[None]]]] = {
    "learn": learn,
    "confirm": confirm,
    "forget": forget,
    "publish": publish,
}


async def main(*asked: str) -> None:
    path, step, *arguments = asked
    memory = SqliteStore(path)
    now = NOW + timedelta(milliseconds=os.getpid())  # no two processes publish at one time
    await STEPS[step](Fleet.on(memory, "f1", Lexical(), lambda: now), *arguments)
    await memory.close()


anyio.run(main, *sys.argv[1:])
