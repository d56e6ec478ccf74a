"""A vector that cannot be read costs its lesson the comparison by meaning, and no call fails."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import memory_health
from tests.lessons import START, new_pattern

pytestmark = pytest.mark.anyio


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    store = SqliteStore(tmp_path / "memory.db")
    yield Fleet.on(store, "default", Lexical(), lambda: START)
    await store.close()


@pytest.mark.parametrize("text", ["abc", "!!!!", "!" * 512])
async def test_every_tool_goes_on_past_a_vector_that_cannot_be_read(
    fleet: Fleet, text: str
) -> None:
    await store_memory(fleet, "p", new_pattern("Rotate logs every night", id="a"))
    await store_memory(fleet, "p", new_pattern("Rotate logs each night", id="b"))
    await fleet.programs.update(
        "p",
        lambda p: ProgramChange(
            replace(p, patterns={**p.patterns, "a": replace(p.patterns["a"], vector=text)})
        ),
        START,
    )
    found = await recall_memory(fleet, "p", query="Rotate logs every night")
    assert {one.id for one in found.patterns} == {"a", "b"}
    await gsp_bootstrap(fleet, "p", task="rotate")
    await store_memory(fleet, "p", new_pattern("Rotate logs every day", id="c"))
    await memory_health(fleet, "p")


def test_an_entry_whose_vector_cannot_be_read_has_none() -> None:
    row = KnowledgeRow(
        key="pattern/d/x",
        pattern="x",
        domain="d",
        confidence=0.5,
        last_confirmed=START,
        vector="AQL/",
    )
    assert row.searched_vector == bytes([1, 2, 255])
    assert replace(row, vector="!!!!").searched_vector == b""
