"""A model that cannot load is in the log once, and in every answer that it affects."""

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
from tests.lessons import START, new_pattern

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


async def test_a_model_that_cannot_load_again_is_named_until_it_can_and_no_other_vectors_are_stored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = tmp_path / "minilm"
    shutil.copytree(FOLDER, files)
    store = SqliteStore(tmp_path / "memory.db")
    engine = Fallback(MiniLM(files))
    fleet = Fleet.on(store, "default", engine, lambda: START)

    async def engine_of_a_store(id_: str, text: str) -> str | None:
        answer = await store_memory(fleet, "basher", new_pattern(text, id=id_))
        assert answer.status == "created"
        return answer.similarity_engine

    assert await engine_of_a_store("a", "Pin versions") is None
    await engine.release(0)
    files.rename(tmp_path / "away")
    assert await engine_of_a_store("b", "Rotate logs") == "words"
    assert (await recall_memory(fleet, "basher", query="freeze a dependency")).similarity_engine == "words"
    assert [record.name for record in caplog.records] == ["fleet_memory.similarity.minilm"]
    (tmp_path / "away").rename(files)
    assert await engine_of_a_store("c", "Clean caches daily") is None
    kept = (await fleet.programs.read("basher")).patterns
    assert {id_: (one.embedder, bool(one.vector)) for id_, one in kept.items()} == {
        "a": (engine.name, True),
        "b": ("", False),
        "c": (engine.name, True),
    }
    await store.close()
