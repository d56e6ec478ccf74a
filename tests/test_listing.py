"""Tools are listed before their code is imported, by the first call."""

import gc
import sys
from pathlib import Path

import pytest
from mcp import Client

from fleet_memory.server import listing, registration
from fleet_memory.server.app import create_server
from fleet_memory.settings import load
from tests.calls import call, refusal

pytestmark = pytest.mark.anyio


async def test_code_that_cannot_be_imported_is_refused_with_its_code_and_the_operator_finds_the_cause(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.delitem(listing._imported, "recall_memory", raising=False)
    settings = load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})
    async with Client(create_server(settings)) as client:
        with monkeypatch.context() as broken:
            broken.setitem(sys.modules, "fleet_memory.server.toolsets", None)
            assert await refusal(client, "recall_memory") == (
                "internal: recall_memory failed inside the server; call again; "
                "the operator finds the cause in the server's log"
            )
        assert "ModuleNotFoundError" in caplog.text
        assert (await call(client, "recall_memory"))["total"] == 0  # the next call tries again


async def test_a_call_builds_no_schema_that_clients_have_from_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(listing, "_imported", {})
    registration._made.cache_clear()
    settings = load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})
    async with Client(create_server(settings)) as client:
        await call(client, "recall_memory")
    assert {"accepted", "answer", "output_schema"} & vars(
        listing._imported["recall_memory"]
    ).keys() == set()


async def test_a_call_leaves_the_garbage_collector_of_a_host_process_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(listing, "_imported", {})
    settings = load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})
    gc.disable()
    try:
        before = gc.get_freeze_count()
        async with Client(create_server(settings)) as client:
            await call(client, "recall_memory")
        assert (gc.isenabled(), gc.get_freeze_count()) == (False, before)
    finally:
        gc.enable()
