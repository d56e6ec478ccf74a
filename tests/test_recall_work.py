"""What a recall does, counted: calls of a thread, lookups of words, functions called for each
lesson.
"""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import Scope, recall_memory
from tests.work import counted_functions

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ENOUGH = 20  # lessons of which a recall shows five


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    store = SqliteStore(tmp_path / "memory.db")
    yield Fleet.on(store, "f1", MiniLM(), lambda: NOW)
    await store.close()


async def learn(fleet: Fleet, numbers: range) -> None:
    for number in numbers:
        text = f"Wait for queue {number} before the deploy"
        await store_memory(
            fleet,
            "basher",
            NewPattern(
                pattern=text, domain="ci", confidence=0.8, evidence=f"build {number} broke twice"
            ),
        )


async def recall(fleet: Fleet, query: str | None, scope: Scope = "all") -> Counter[str]:
    with counted_functions() as calls:
        answer = await recall_memory(fleet, "basher", query=query, scope=scope, limit=5)
    assert len(answer.patterns) == 5
    return calls


async def test_a_recall_looks_up_the_words_of_its_question_and_of_new_lessons_together(
    fleet: Fleet,
) -> None:
    await learn(
        fleet, range(1_000, 1_000 + ENOUGH)
    )  # that no other test has asked about in this process
    assert (await recall(fleet, "which queue of a new kind is waited for?"))["_stem_places"] == 1
    assert (await recall(fleet, "which kind of new queue is waited for?"))["_stem_places"] == 0


async def test_a_recall_calls_few_functions_for_each_lesson_that_the_program_has(
    fleet: Fleet,
) -> None:
    await learn(fleet, range(ENOUGH))
    await recall(fleet, "which queue is waited for?")
    few = (await recall(fleet, "which queue is waited for?")).total()
    await learn(fleet, range(ENOUGH, 3 * ENOUGH))
    await recall(fleet, "which queue is waited for?")
    many = (await recall(fleet, "which queue is waited for?")).total()
    assert many - few <= 5 * 2 * ENOUGH  # its strength and its age
    assert few <= 300 + 5 * ENOUGH + 10
