"""Twenty servers on one store, and servers that are killed: every acknowledged store survives,
promotions are whole.
"""

import itertools
import random
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest
from agents import Agent, agent, opened
from kills import KILLS, kill_after, serving
from mcp import Client, MCPError
from settling import settled

from fleet_memory.repositories.programs import Programs
from fleet_memory.stores import Query, Store
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

NOW = "2026-03-01T09:00:00Z"
STORES_EACH = 50


def lesson(name: str, program: str = "") -> dict[str, object]:
    return {
        "id": name,
        "pattern": f"Lesson {name}",
        "domain": "claims",
        "confidence": 0.8,
        "evidence": f"{program} saw it fail twice",
    }


@pytest.mark.parametrize("processes", [4, pytest.param(20, marks=pytest.mark.kills)])
async def test_every_store_of_many_cold_servers_survives(
    store_address: str, processes: int
) -> None:
    async def stores(number: int) -> None:
        async with agent(store_address, now=NOW, embedder="lexical") as one:
            for count in range(STORES_EACH):
                program = "shared" if count % 5 == 0 else f"program-{number}-{count // 25}"
                name = f"{number}-{count}"
                done = await one.call(
                    "store_memory", programId=program, pattern=lesson(name), onDuplicate="keep"
                )
                assert done["status"] == "created"
                evicted.extend(gone["id"] for gone in done["evicted"])

    evicted: list[str] = []
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as together:
            for number in range(processes):
                together.start_soon(stores, number)
        async with agent(store_address, now=NOW, embedder="lexical") as one:
            kept = await one.call("memory_health", programId="shared")
            others = [
                (await one.call("memory_health", programId=f"program-{number}-{half}"))[
                    "totalPatterns"
                ]
                for number in range(processes)
                for half in (0, 1)
            ]
    shared = processes * STORES_EACH // 5
    assert (sum(others) + shared, kept["totalPatterns"]) == (processes * STORES_EACH, shared)
    assert evicted == []


@pytest.mark.kills
async def test_no_acknowledged_store_is_lost_and_no_promotion_is_half_made_by_kills(
    store_address: str, tmp_path: Path
) -> None:
    acknowledged: set[tuple[str, str]] = set()
    with anyio.fail_after(HANG_S):
        for round_ in range(KILLS):
            await _session_until_killed(
                store_address, round_, tmp_path / f"pid-{round_}", acknowledged
            )
        async with opened(
            store_address
        ) as store:  # a store that lands after the last consolidation is not promoted
            await settled(partial(_revisions, store))
        async with agent(store_address, now=_at(KILLS), embedder="lexical") as one:
            await one.call("pattern_consolidate")
            again = await one.call("pattern_consolidate")
    assert len(acknowledged) > KILLS, "the kills came too early to prove anything"
    assert (again["promoted"], again["updated"]) == ([], [])
    async with opened(store_address) as store:
        assert (await store.check()).intact
        kept = {
            name: (await Programs(store, "default").read(name)).patterns
            for name in ("alpha", "beta")
        }
        entries = await store.find(Query("fleets/default/gsp"))
        told = await store.find(Query("fleets/default/ledger", {"event": "promoted"}))
    assert {
        (program, id_) for program, patterns in kept.items() for id_ in patterns
    } >= acknowledged
    keys = sorted(str(entry.fields["key"]) for entry in entries)
    assert keys == sorted(str(line.fields["key"]) for line in told)
    for patterns in kept.values():
        assert (
            sorted(pattern.knowledge_key or "" for pattern in patterns.values() if pattern.promoted)
            == keys
        )
    assert set(kept["alpha"]) & set(kept["beta"]) == {
        id_ for id_, one in kept["alpha"].items() if one.promoted
    }


async def _revisions(store: Store) -> dict[str, object]:
    return {
        document.ref.id: document.revision
        for document in await store.find(Query("fleets/default/programs"))
    }


async def _session_until_killed(
    address: str, round_: int, pid: Path, acknowledged: set[tuple[str, str]]
) -> None:
    """Store lessons for two programs and consolidate, again and again, until the server is
    killed.
    """
    settings = {
        "FLEET_MEMORY_STORE": address,
        "FLEET_MEMORY_NOW": _at(round_),
        "FLEET_MEMORY_EMBEDDER": "lexical",
    }
    calls, fatal = (
        0,
        round_ * 5 % 12,
    )  # each number of calls below 12, in an order that mixes few and many
    moment_s = random.uniform(0, 0.02)  # noqa: S311 - within the call that is under way, or the next
    try:
        async with (
            Client(serving(settings, pid)) as client,
            anyio.create_task_group() as group,
        ):
            for count in itertools.count():
                for tool, program in (
                    ("store_memory", "alpha"),
                    ("store_memory", "beta"),
                    ("pattern_consolidate", ""),
                ):
                    if calls == fatal:
                        group.start_soon(kill_after, pid, moment_s)
                    calls += 1
                    name = f"{round_}-{count}"
                    arguments = (
                        {"programId": program, "pattern": lesson(name, program)} if program else {}
                    )
                    await Agent(client).call(tool, **arguments)
                    if program:
                        acknowledged.add((program, name))
    except* MCPError:
        assert calls > fatal  # the connection ended with the server, as it was meant to


def _at(round_: int) -> str:
    return (datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(minutes=10 * round_)).isoformat()
