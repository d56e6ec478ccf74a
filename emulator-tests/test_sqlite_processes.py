"""Real processes on one memory file: nothing is lost to the others, nor to kill -9."""

import random
import sys
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from kills import KILLS

from fleet_memory.stores import SHAPE, Query, Ref, StoreHealth
from fleet_memory.stores.sqlite import SqliteStore
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

CHILDREN = Path(__file__).parent / "children"
COUNTER = Ref("fleets/f1/programs", "counter")


# The last one is a cold start: all of them create the file
@pytest.mark.parametrize(
    ("processes", "times"),
    [
        (8, 25),
        pytest.param(20, 50, marks=pytest.mark.kills),
        pytest.param(20, 1, marks=pytest.mark.kills),
    ],
)
async def test_every_increment_of_every_process_survives(
    tmp_path: Path, processes: int, times: int
) -> None:
    command = [
        sys.executable,
        str(CHILDREN / "increment.py"),
        str(tmp_path / "memory.db"),
        str(times),
    ]
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(processes):
                tasks.start_soon(partial(anyio.run_process, command, stderr=None))
    store = SqliteStore(tmp_path / "memory.db")
    (counter,) = await store.get(COUNTER)
    assert counter is not None
    assert counter.fields == {"n": processes * times}
    await store.close()


async def killed_after(commits: int, writer: Process) -> int:
    """Kill the writer once it has acknowledged that many commits, and return how many it had when
    it died.
    """
    assert writer.stdout is not None
    answers, text = TextReceiveStream(writer.stdout), ""
    while text.count("\n") < commits:
        text += await answers.receive()  # raises EndOfStream if it dies by itself
    writer.kill()
    async for rest in answers:
        text += rest
    return text.count("\n")


@pytest.mark.kills
async def test_killed_writers_lose_no_acknowledged_commit(tmp_path: Path) -> None:
    path, promised = tmp_path / "memory.db", dict[str, int]()
    chance = random.Random(11)  # noqa: S311 - chooses when to kill

    async def kill_some(lane: int) -> None:
        for n in range(lane, KILLS, 4):
            command = [sys.executable, str(CHILDREN / "acknowledge.py"), str(path), f"w{n}"]
            async with await anyio.open_process(command, stderr=None) as writer:
                promised[f"w{n}"] = await killed_after(chance.randint(0, 60), writer)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for lane in range(4):  # so that each one dies while others write
                tasks.start_soon(kill_some, lane)
    store = SqliteStore(path)
    counts = {
        document.ref.id: document.fields["n"] for document in await store.find(Query("counts"))
    }
    kept = {name: await store.total(Query("entries", {"by": name})) for name in promised}
    assert {name: count for name, count in kept.items() if count} == counts
    assert [name for name, count in promised.items() if kept[name] < count] == []
    assert len(promised) == KILLS
    assert await store.check() == StoreHealth(
        SHAPE,
        intact=True,
        documents={"counts": len(counts), "entries": sum(kept.values())},
    )
    await store.close()
