"""What a store does, counted: it grows by a few calls for each lesson that the program has."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import store_memory
from tests.work import counted_functions

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    store = SqliteStore(tmp_path / "memory.db")
    yield Fleet.on(store, "f1", MiniLM(), lambda: NOW)
    await store.close()


async def store(fleet: Fleet, text: str) -> None:
    await store_memory(
        fleet,
        "basher",
        NewPattern(pattern=text, domain="ci", confidence=0.8, evidence=f"{text} broke twice"),
    )


async def test_a_store_calls_at_most_six_functions_for_each_lesson_that_the_program_has(
    fleet: Fleet,
) -> None:
    counts = list[int]()
    for number in range(60):
        with counted_functions() as calls:
            await store(fleet, f"Wait for queue {number} before the deploy")
        counts.append(calls.total())
    assert max(counts[-10:]) - min(counts[10:20]) <= 6 * 50
