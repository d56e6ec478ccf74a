"""A model that cannot load is in the log once, and in every answer that it affects."""

import platform
import shutil
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity import NO_BUILD
from fleet_memory.similarity.lexical import Fallback, Lexical, warn_once
from fleet_memory.similarity.minilm import FOLDER, MiniLM, has_builds
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import memory_health
from tests.lessons import START, days, new_pattern

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _unwarned() -> None:
    warn_once.cache_clear()


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
    lesson = NewPattern.model_validate(
        {"pattern": "Check first", "domain": "d", "confidence": 0.8, "evidence": ""}
    )
    answers = [
        await memory_health(fleet, "basher"),
        await store_memory(fleet, "basher", lesson),
        await recall_memory(fleet, "basher", query="check"),
        await pattern_consolidate(fleet, silently),
    ]
    assert [answer.similarity_engine for answer in answers] == ["lexical"] * 4
    assert [record.name for record in caplog.records] == ["fleet_memory.similarity.lexical"]
    kept = (await fleet.programs.read("basher")).patterns.values()
    assert {pattern.embedder for pattern in kept} == {engine.name} == {"lexical/1"}
    await store.close()


async def test_a_machine_without_the_models_libraries_compares_letters_and_names_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    store = SqliteStore(tmp_path / "memory.db")
    engine = Fallback(MiniLM())
    fleet = Fleet.on(store, "default", engine, lambda: START)
    answer = await store_memory(fleet, "basher", new_pattern("Pin every version"))
    assert (answer.status, answer.similarity_engine) == ("created", "lexical")
    recalled = await recall_memory(fleet, "basher", query="which version do I pin?")
    assert [(hit.pattern, recalled.similarity_engine) for hit in recalled.patterns] == [
        ("Pin every version", "lexical")
    ]
    (line,) = caplog.messages
    assert "comparing letters instead: ModuleNotFoundError" in line
    assert "pip install onnxruntime tokenizers" in line
    assert "\n" not in line
    report = await check_memory(store, "default", engine)
    assert not report.healthy
    assert "pip install onnxruntime tokenizers" in str(report.rows["degraded"])
    await store.close()


async def test_letters_are_the_default_on_a_machine_that_the_models_libraries_have_no_build_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    store = SqliteStore(tmp_path / "memory.db")
    for engine in (Fallback(MiniLM()), Fallback(MiniLM())):
        report = await check_memory(store, "default", engine)
        assert (report.healthy, report.rows["note"], "degraded" in report.rows) == (
            True,
            NO_BUILD,
            False,
        )
    assert caplog.messages == [NO_BUILD]
    await store.close()


@pytest.mark.parametrize("version", ["3.11", "3.13", "3.14", "3.15"])
@pytest.mark.parametrize("implementation", ["cpython", "pypy"])
@pytest.mark.parametrize("system", ["linux", "darwin", "win32", "freebsd14"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "armv7l", "arm64", "AMD64", "ARM64"])
def test_builds_are_where_the_package_asks_for_them(
    version: str, implementation: str, system: str, machine: str
) -> None:
    project = tomllib.loads(
        (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    (marker,) = (
        Requirement(one).marker for one in project["dependencies"] if one.startswith("onnxruntime")
    )
    assert marker is not None
    environment = {
        "implementation_name": implementation,
        "python_version": version,
        "sys_platform": system,
        "platform_machine": machine,
    }
    major, minor = map(int, version.split("."))
    assert has_builds(implementation, (major, minor), system, machine) == marker.evaluate(
        environment
    )


async def test_a_stand_in_leaves_the_models_vectors_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    with_model = Fleet.on(store, "default", Fallback(MiniLM()), lambda: START)
    await store_memory(
        with_model, "basher", new_pattern("Pin every dependency to an exact version", id="pin")
    )
    await store_memory(
        with_model,
        "wren",
        new_pattern("Each dependency is pinned to one exact version", id="freeze"),
    )
    before = await vectors_of(with_model)
    assert {engine for engine, _ in before.values()} == {MiniLM.name}
    with monkeypatch.context() as hidden:
        hidden.setitem(sys.modules, "onnxruntime", None)
        without = Fleet.on(store, "default", Fallback(MiniLM()), lambda: START + days(1))
        await store_memory(
            without, "basher", new_pattern("Pin every dependency to an exact version", id="pin")
        )
        await reinforce_memory(without, "basher", "pin", evidence="It held")
        await store_memory(without, "wren", new_pattern("Rotate logs at noon", id="rotate"))
        await maintain_fleet(without, silently)
        now = await vectors_of(without)
        assert now | before == now
        assert now["rotate"][0] == Lexical.name
    again = Fleet.on(store, "default", Fallback(MiniLM()), lambda: START + days(2))
    await maintain_fleet(again, silently)
    found = await vectors_of(again)
    assert found | before == found
    pairs = [one for one in await again.pairs.all() if one.state == "open"]
    assert [{pair.a.pattern_id, pair.b.pattern_id} for pair in pairs] == [{"pin", "freeze"}]
    await maintain_fleet(again, silently, rebuild=True)
    assert {engine for engine, _ in (await vectors_of(again)).values()} == {MiniLM.name}
    await store.close()


async def vectors_of(fleet: Fleet) -> dict[str, tuple[str, str]]:
    """Return engine and vector of every lesson, by its id."""
    programs = [await fleet.programs.read(name) for name in ("basher", "wren")]
    return {
        id_: (one.embedder, one.vector)
        for program in programs
        for id_, one in program.patterns.items()
    }
