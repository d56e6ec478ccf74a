"""An endpoint that fails loses nothing: lessons are stored at once, and compared by meaning when it
is back.
"""

import dataclasses
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from fleet_memory.cli import main
from fleet_memory.server.app import create_server
from fleet_memory.settings import TOOLSETS, Settings, load
from tests.bounds import HANG_S
from tests.endpoint import Endpoint, embeddings, served

pytestmark = pytest.mark.anyio

NOW = "2026-03-07T12:00:00Z"
CHECK = "Always check that a task is still free before you claim it"
VERIFY = "Always check that a task is still free before you claim it at all"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with served() as endpoint:
        yield endpoint


@pytest.fixture
def settings(tmp_path: Path, endpoint: Endpoint) -> Settings:
    flags = {
        "store": str(tmp_path / "m.db"),
        "embedder": "openai:m",
        "embedder_url": endpoint.url,
        "now": NOW,
    }
    return load(flags, {})


@asynccontextmanager
async def agent(settings: Settings) -> AsyncIterator[Client]:
    with anyio.fail_after(HANG_S):
        async with Client(create_server(settings), raise_exceptions=True) as client:
            yield client


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content or {}


def lesson(text: str) -> dict[str, object]:
    return {"pattern": text, "domain": "claims", "confidence": 0.8, "evidence": ""}


async def test_a_lesson_stored_in_an_outage_is_found_by_words_and_compared_when_it_is_over(
    settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.down = True
    async with agent(settings) as client:
        for program, text in (("basher", CHECK), ("sark", VERIFY)):
            stored = await call(client, "store_memory", programId=program, pattern=lesson(text))
            assert (stored["status"], stored["similarityEngine"]) == ("created", "words")
        found = await call(client, "recall_memory", programId="basher", query="claim a task")
        assert ([one["pattern"] for one in found["patterns"]], found["similarityEngine"]) == (
            [CHECK],
            "words",
        )
        assert (await call(client, "memory_health", programId="basher"))[
            "similarityEngine"
        ] == "words"
        blind = await call(client, "pattern_consolidate")
        assert (blind["promoted"], blind["openPairs"], blind["similarityEngine"]) == (
            [],
            0,
            "words",
        )
        assert (await call(client, "memory_health", programId="basher"))["freshness"][
            "pending"
        ] == 1
    endpoint.down = False
    async with agent(settings) as client:
        (pair,) = (await call(client, "pattern_consolidate", programId="sark"))["toJudge"]
        assert [pair[side]["pattern"] for side in "ab"] == [VERIFY, CHECK]
        health = await call(client, "memory_health", programId="basher")
        assert ("similarityEngine" in health, health["freshness"]["pending"]) == (False, 0)


async def test_a_session_left_in_an_outage_keeps_its_lessons(
    settings: Settings, endpoint: Endpoint
) -> None:
    every = dataclasses.replace(settings, toolsets=TOOLSETS)
    endpoint.down = True
    async with agent(every) as client:
        for program, text in (("basher", CHECK), ("sark", VERIFY)):
            done = await call(
                client, "commit_session", programId=program, requestId="s1", patterns=[lesson(text)]
            )
            assert (done["failed"], done["patterns"][0]["status"], done["similarityEngine"]) == (
                0,
                "created",
                "words",
            )
    endpoint.down = False
    async with agent(every) as client:
        (pair,) = (await call(client, "pattern_consolidate", programId="sark"))["toJudge"]
        assert [pair[side]["pattern"] for side in "ab"] == [VERIFY, CHECK]
        again = await call(
            client, "commit_session", programId="sark", requestId="s1", patterns=[lesson(VERIFY)]
        )
        assert (again["repeated"], again["failed"]) == (True, 0)


async def test_a_server_does_not_change_engines_because_of_an_outage(
    settings: Settings, endpoint: Endpoint
) -> None:
    async with agent(settings) as client:
        await call(client, "store_memory", programId="basher", pattern=lesson(CHECK))
        endpoint.down = True
        await call(
            client, "store_memory", programId="basher", pattern=lesson("Rotate the context early")
        )
        endpoint.down = False
    async with agent(settings) as client:
        near = await call(client, "store_memory", programId="basher", pattern=lesson(VERIFY))
        assert [one["pattern"] for one in near["related"]] == [CHECK]


async def test_another_model_behind_the_same_name_breaks_no_call(
    settings: Settings, endpoint: Endpoint
) -> None:
    async with agent(settings) as client:
        await call(client, "store_memory", programId="basher", pattern=lesson(CHECK))
        await call(
            client, "store_memory", programId="iso", pattern=lesson("Rotate the context early")
        )
    async with agent(settings) as client:
        endpoint.script.extend([(200, embeddings([[1.0, 2.0]]))] * 2)
        stored = await call(client, "store_memory", programId="basher", pattern=lesson(VERIFY))
        assert (stored["status"], stored["related"]) == ("created", [])
        found = await call(client, "recall_memory", programId="basher", query="claim a task")
        assert {one["pattern"] for one in found["patterns"]} == {CHECK, VERIFY}
        await call(client, "pattern_consolidate")


def flags(settings: Settings, endpoint: Endpoint) -> list[str]:
    named = {
        "store": str(settings.store.words[0]),
        "embedder": "openai:m",
        "embedder-url": endpoint.url,
    }
    return [f"--{name}={value}" for name, value in named.items()]


def test_check_reports_that_the_endpoint_fails(
    settings: Settings, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.down = True
    assert main(["doctor", "store", "--json", *flags(settings, endpoint)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["embedder"], report["degraded"][:35]) == (
        "openai/m",
        "The embedding endpoint does not ans",
    )
