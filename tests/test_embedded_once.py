"""A lesson is embedded once in its life: its vector goes with it, to every server and document."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.recall import recall_memory
from tests.fleets import FLEET, NOW, learn

pytestmark = pytest.mark.anyio

STILL = "Check that a task is still free before you claim it"
FREE = "Claim free tasks only: check first that the task is still free"
LOGS = "Rotate the logs every night"


class Recording(Lexical):
    """An embedder that keeps the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return await super().vectors(texts)


Start: TypeAlias = Callable[[], tuple[Fleet, Recording]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Return a function that starts another server on one memory."""
    stores: list[SqliteStore] = []

    def started() -> tuple[Fleet, Recording]:
        stores.append(SqliteStore(tmp_path / "m.db"))
        embedder = Recording()
        return Fleet.on(stores[-1], FLEET, embedder, lambda: NOW), embedder

    yield started
    for store in stores:
        await store.close()


async def test_a_lesson_keeps_its_vector_through_promotion_wordings_boot_and_maintenance(
    start: Start,
) -> None:
    fleet, storing = start()
    for program, text in (("basher", STILL), ("sark", FREE), ("iso", LOGS), ("ram", LOGS)):
        await learn(fleet, program, text)
    assert storing.texts == [STILL, FREE, LOGS, LOGS]

    fleet, other = start()
    assert [one.pattern for one in (await pattern_consolidate(fleet, no_progress)).promoted] == [
        LOGS
    ]
    (pair,) = (await pattern_consolidate(fleet, no_progress, "sark")).to_judge
    same = NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": "same"})
    await pattern_consolidate(fleet, no_progress, "sark", verdicts=(same,))
    await pattern_consolidate(fleet, no_progress, "basher")
    await pattern_consolidate(fleet, no_progress, "basher", verdicts=(same,))
    await maintain_fleet(fleet, no_progress)
    await maintain_fleet(fleet, no_progress, rebuild=True)
    await gsp_bootstrap(fleet, "basher")
    await recall_memory(fleet, "basher")
    assert other.texts == []
