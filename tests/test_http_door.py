"""What an HTTP request meets before a tool: its host, origin, size, form and path; and what is open to everybody."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from tests.http_server import HttpServer, http_server

ACCEPT = "application/json, text/event-stream"
JSON = {"Accept": ACCEPT, "Content-Type": "application/json"}
MODERN = "2026-07-28"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("door") / "memory.db", "--toolsets", "all") as server:
        yield server


def message(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


def modern(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    return message(method, {**(params or {}), "_meta": meta})


ERAS = {
    "2025": (message("tools/list"), JSON),
    "2026": (modern("tools/list"), JSON | {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}),
}


@pytest.fixture(params=ERAS)
def request_of_era(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, str]]:
    return ERAS[request.param]


def tools_of(response: httpx2.Response) -> set[str]:
    (text,) = [line.removeprefix("data: ") for line in response.text.splitlines() if "{" in line]
    return {tool["name"] for tool in json.loads(text)["result"]["tools"]}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
async def test_the_official_client_calls_a_tool_in_both_eras(server: HttpServer, mode: str) -> None:
    with anyio.fail_after(60):
        async with Client(server.url, mode=mode) as client:
            pattern = {
                "domain": "net",
                "pattern": f"Lessons travel over {mode}.",
                "confidence": 0.5,
                "evidence": "Seen",
            }
            result = await client.call_tool("store_memory", {"programId": "basher", "pattern": pattern})
            assert not result.is_error, result.content


def test_a_plain_request_is_answered_in_both_eras(
    server: HttpServer, request_of_era: tuple[dict[str, Any], dict[str, str]]
) -> None:
    body, headers = request_of_era
    assert "store_memory" in tools_of(httpx2.post(server.url, json=body, headers=headers))
