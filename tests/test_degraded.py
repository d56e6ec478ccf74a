"""A model that cannot load is said once in the log, and in every answer that it affects."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity.fallback import Fallback
from fleet_memory.similarity.minilm import FOLDER, MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.memory_health import memory_health
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from fleet_memory.tools.recall_memory import recall_memory
from fleet_memory.tools.store_memory import store_memory

pytestmark = pytest.mark.anyio


async def silently(_done: float, _total: float, _message: str) -> None: ...


async def test_a_damaged_model_is_named_in_every_affected_answer_and_vectors_never_mix(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = tmp_path / "minilm"
    shutil.copytree(FOLDER, damaged)
    (damaged / "tokenizer.json").write_text("{")
    store = SqliteStore(tmp_path / "memory.db")
    engine = Fallback(MiniLM(damaged))
    now = datetime(2026, 3, 1, tzinfo=UTC)
    fleet = Fleet.on(store, "default", engine, lambda: now)
    lesson = NewPattern.model_validate({"pattern": "Check first", "domain": "d", "confidence": 0.8, "evidence": ""})
    answers = [
        await memory_health(fleet, "basher"),
        await store_memory(fleet, "basher", lesson),
        await recall_memory(fleet, "basher", query="check"),
        await pattern_consolidate(fleet, silently),
    ]
    assert [answer.similarity_engine for answer in answers] == ["lexical"] * 4
    assert [record.name for record in caplog.records] == ["fleet_memory.similarity.fallback"]
    kept = (await fleet.programs.read("basher")).patterns.values()
    assert {pattern.embedder for pattern in kept} == {engine.name} == {"lexical/1"}
    await store.close()
