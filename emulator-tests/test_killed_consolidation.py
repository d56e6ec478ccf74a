"""A server that is killed within a consolidation leaves each promotion whole or absent, and a rerun makes the rest."""

import itertools
import random
import time
from collections import Counter
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest
from agents import opened, served
from fleets import NOW, consolidate, fleet_on, lesson
from kills import KILLS, MAX_KILLS, SERVE, kill_after
from mcp import Client, MCPError
from settling import settled

from fleet_memory.fleet import Fleet
from fleet_memory.stores import Query, Store
from fleet_memory.tools.store_memory import store_memory

pytestmark = [pytest.mark.anyio, pytest.mark.kills]

PROGRAMS = ("basher", "sark")
LESSONS = [f"l{n}" for n in range(30)]  # each learnt by both programs: 30 promotions
LANES = 2  # servers that run at the same time
LATER = NOW + timedelta(hours=1)  # the lease of a killed server has expired by then
PATIENCE_S = 600


async def learn_all(fleet: Fleet) -> None:
    async with anyio.create_task_group() as tasks:  # at once, so that they share a commit
        for program in PROGRAMS:
            for name in LESSONS:
                tasks.start_soon(store_memory, fleet, program, lesson(name))


async def consolidated_by_a_server(address: str, fleet_id: str, pid: Path, killed_after_s: float | None) -> float:
    """Consolidate in a server, which is killed meanwhile; return how long it took. Raises MCPError when it died."""
    settings = {"FLEET_MEMORY_STORE": address, "FLEET_MEMORY_EMBEDDER": "lexical", "FLEET_MEMORY_FLEET": fleet_id}
    command = served([str(SERVE), str(pid)], {**settings, "FLEET_MEMORY_NOW": NOW.isoformat()})
    async with Client(command) as client, anyio.create_task_group() as group:
        await client.call_tool("memory_health", {"programId": "basher"})  # everything is loaded and open
        if killed_after_s is not None:
            group.start_soon(kill_after, pid, killed_after_s)
        began = time.perf_counter()
        await client.call_tool("pattern_consolidate", {})
        ended = time.perf_counter()
    return ended - began


async def parts_of_promotions(store: Store, fleet_id: str) -> Counter[str]:
    """Count, by the id of its lesson, what is there of each promotion: an entry, a ledger line, two marks."""
    entries = await store.find(Query(f"fleets/{fleet_id}/gsp"))
    lines = await store.find(Query(f"fleets/{fleet_id}/ledger", {"event": "promoted"}))
    parts = Counter(str(document.fields["key"]).rpartition("-")[2] for document in (*entries, *lines))
    for program in PROGRAMS:
        patterns = (await fleet_on(store, fleet_id=fleet_id).programs.read(program)).patterns
        parts.update(pattern.id for pattern in patterns.values() if pattern.promoted)
    return parts


async def require_the_rest_from_a_rerun(store: Store, fleet_id: str) -> int:
    """Hold what a killed run left, and what the next one makes of it; return how many promotions were left."""
    before = await settled(partial(parts_of_promotions, store, fleet_id))
    assert set(before.values()) <= {4}, "a promotion is half made"
    rerun = await consolidate(fleet_on(store, LATER, fleet_id))
    assert sorted(one.provenance[0].pattern_id for one in rerun.promoted) == sorted({*LESSONS} - before.keys())
    assert await parts_of_promotions(store, fleet_id) == dict.fromkeys(LESSONS, 4)
    again = await consolidate(fleet_on(store, LATER, fleet_id))
    assert (again.promoted, again.updated) == ((), ())
    assert len((await fleet_on(store, fleet_id=fleet_id).knowledge.snapshots.read()).rows) == len(LESSONS)
    return len(before)


async def test_a_killed_consolidation_is_completed_by_the_next(store_address: str, tmp_path: Path) -> None:
    chance, fleets = random.Random(50), itertools.count()  # noqa: S311 - chooses when to kill
    left = list[int]()
    shortest_s: float | None = None  # the time of a run that nobody killed: the first, and those that were faster

    async def lane() -> None:
        nonlocal shortest_s
        while len(left) < KILLS or (len(set(left)) < 2 and len(left) < MAX_KILLS):
            fleet_id = f"fleet-{next(fleets)}"
            await learn_all(fleet_on(store, fleet_id=fleet_id))
            moment_s = None if shortest_s is None else chance.uniform(0, shortest_s)
            try:
                took_s = await consolidated_by_a_server(store_address, fleet_id, tmp_path / fleet_id, moment_s)
                shortest_s = min(took_s, shortest_s or took_s)
            except* MCPError:
                left.append(await require_the_rest_from_a_rerun(store, fleet_id))

    with anyio.fail_after(PATIENCE_S):
        async with opened(store_address) as store, anyio.create_task_group() as lanes:
            for _ in range(LANES):
                lanes.start_soon(lane)
    assert len(set(left)) > 1, "all the kills came before the first promotion, or after the last"
