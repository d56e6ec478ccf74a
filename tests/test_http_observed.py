"""A service with tokens over HTTP: its log names the program of each call, and its limits are of
each token.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from fleet_memory.server.http.app import MAX_AGENT_BODY_BYTES, MAX_BODY_BYTES
from tests import forked
from tests.bounds import HANG_S
from tests.http_server import http_server
from tests.test_call_log import PRIVATE
from tests.test_http_door import ERAS, JSON, message
from tests.test_nothing_leaves import LESSON

pytestmark = pytest.mark.anyio


def token_of(store: Path, program: str, *flags: str) -> str:
    words = ["token", "create", "--program", program, "--store", str(store), *flags]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")
    }
    done = subprocess.run(  # noqa: S603 words of this test
        [*forked.words(), *words],
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    (token,) = [word for word in done.stdout.split() if word.startswith("fm_")]
    return token


async def outcomes(url: str, token: str, calls: int) -> list[bool]:
    """Make calls in turn; return which were refused."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        results = [await client.call_tool("memory_health", {}) for _ in range(calls)]
    return [result.is_error for result in results]


async def test_a_call_is_logged_with_its_program_and_a_token_over_its_rate_stops_no_other(
    tmp_path: Path,
) -> None:
    store = tmp_path / "memory.db"
    wren, atlas = [
        await anyio.to_thread.run_sync(token_of, store, name) for name in ("wren", "atlas")
    ]
    with (
        http_server(store, "--rate", "2/1", "--log-format", "json") as server,
        anyio.fail_after(HANG_S),
    ):
        assert await outcomes(server.url, wren, 3) == [False, False, True]
        assert await outcomes(server.url, atlas, 2) == [False, False]
        assert await anyio.to_thread.run_sync(server.end, signal.SIGTERM) == 0
    lines = [json.loads(line) for line in server.log if line.startswith("{")]
    calls = [line for line in lines if line.get("method") == "tools/call"]
    assert [(line["program"], line["role"], line["tool"], line["outcome"]) for line in calls] == [
        *[("wren", "agent", "memory_health", "ok")] * 2,
        ("wren", "agent", "memory_health", "rate_limited"),
        *[("atlas", "agent", "memory_health", "ok")] * 2,
    ]
    assert {line["token"] for line in calls[:3]} == {wren.split("_")[1]}
    assert wren not in "".join(server.log)
    assert wren.split("_")[2] not in "".join(server.log)


@pytest.mark.parametrize("era", ERAS)
async def test_a_notification_counts_as_a_call_of_its_token(tmp_path: Path, era: str) -> None:
    store = tmp_path / "memory.db"
    wren, atlas = [
        await anyio.to_thread.run_sync(token_of, store, name) for name in ("wren", "atlas")
    ]
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    def sent(token: str) -> list[int]:
        headers = ERAS[era][1] | {"Authorization": f"Bearer {token}"}
        return [
            httpx2.post(server.url, json=notification, headers=headers).status_code
            for _ in range(3)
        ]

    with http_server(store, "--rate", "2/1") as server, anyio.fail_after(HANG_S):
        assert await anyio.to_thread.run_sync(sent, wren) == [202, 202, 429]
        assert await outcomes(server.url, wren, 1) == [True]
        assert await anyio.to_thread.run_sync(sent, atlas) == [202, 202, 429]


def test_the_body_of_an_agent_ends_before_that_of_an_admin(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    agent, admin = token_of(store, "wren"), token_of(store, "ana", "--role", "admin")
    with http_server(store) as server:

        def status(token: str, size: int) -> int:
            body = json.dumps(message("ping", {"filling": "x" * size}))
            headers = JSON | {"Authorization": f"Bearer {token}"}
            return httpx2.post(server.url, content=body, headers=headers).status_code

        near = MAX_AGENT_BODY_BYTES - 1_000
        assert [status(agent, near), status(agent, near + 1_000)] == [200, 413]
        assert [status(admin, near + 1_000), status(admin, MAX_BODY_BYTES)] == [200, 413]


@pytest.mark.parametrize("log_format", ["text", "json"])
async def test_a_log_of_everything_over_http_has_no_text_of_a_call(
    tmp_path: Path, log_format: str
) -> None:
    pattern = LESSON | {"pattern": PRIVATE, "evidence": PRIVATE}
    flags = ["--no-tokens", "--log-format", log_format, "--log-level", "DEBUG"]
    with http_server(tmp_path / "memory.db", *flags) as server, anyio.fail_after(HANG_S):
        for mode in ("legacy", "auto"):
            async with Client(server.url, mode=mode) as client:
                stored = await client.call_tool(
                    "store_memory", {"programId": "basher", "pattern": pattern}
                )
                assert not stored.is_error
                recalled = await client.call_tool(
                    "recall_memory", {"programId": "basher", "query": PRIVATE}
                )
                assert PRIVATE in str(recalled.structured_content)
                (lesson,) = (recalled.structured_content or {})["patterns"]
                assert (await client.call_tool(PRIVATE, {PRIVATE: PRIVATE})).is_error
    assert [line for line in server.log if PRIVATE in line or lesson["id"] in line] == []


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_header_and_no_trace_of_a_client_is_logged(tmp_path: Path, log_format: str) -> None:
    types = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    traced = {
        "traceparent": f"00-{'a' * 32}-{'b' * 16}-01",
        "tracestate": PRIVATE,
        "baggage": f"{PRIVATE}, =zebra",
    }
    sent = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": traced}}
    flags = ["--no-tokens", "--log-format", log_format, "--log-level", "DEBUG"]
    with http_server(tmp_path / "memory.db", *flags) as server:
        statuses = [
            httpx2.post(server.url, json=sent, headers=types | headers).status_code
            for headers in (
                {},
                {"Host": "zebra.example"},
                {"Origin": "http://zebra.example"},
                {"Host": "zebra@x"},
            )
        ]
    assert statuses == [200, 421, 403, 421]
    assert [line for line in server.log if "zebra" in line] == []


def test_what_a_client_names_a_request_or_a_host_does_not_fill_the_log(tmp_path: Path) -> None:
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    numbers = [7, -(2**63), 2**63, 10**4_000]
    with http_server(tmp_path / "memory.db", "--no-tokens", "--log-format", "json") as server:
        for number in numbers:
            sent = {"jsonrpc": "2.0", "id": number, "method": "ping"}
            assert httpx2.post(server.url, json=sent, headers=headers).status_code == 200
        assert (
            httpx2.post(server.url, json={}, headers=headers | {"Host": "e" * 60_000}).status_code
            == 421
        )
        assert server.end(signal.SIGTERM) == 0
    lines = [json.loads(line) for line in server.log if line.startswith("{")]
    assert [line["requestId"] for line in lines if "requestId" in line] == [7, -(2**63), None, None]
    assert max(map(len, server.log)) < 1_500


def test_a_server_over_stdio_imports_nothing_of_metrics_and_traces() -> None:
    script = (
        "import sys; from fleet_memory.cli import serve; from fleet_memory.server.app import "
        "create_server; "
        "from fleet_memory.settings import load; create_server(load({}, {})); "
        "print([name for name in sys.modules if name.startswith(('prometheus', "
        "'opentelemetry.sdk', "
        "'fleet_memory.server.observing.metrics', 'fleet_memory.server.observing.requests'))])"
    )
    done = subprocess.run(  # noqa: S603 words of this test
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    assert done.stdout.strip() == "[]"
