"""The checks of an HTTP request before a tool: its host, origin, size, form and path; and the open
paths.
"""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from starlette.applications import Starlette

from fleet_memory.clock import clock
from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http import app as http_app
from fleet_memory.server.http.addresses import Bind
from fleet_memory.server.http.app import MAX_BODY_BYTES, health_routes
from fleet_memory.server.http.serving import _bound
from fleet_memory.settings import load
from tests.bounds import HANG_S
from tests.http_server import HttpServer, http_server

ACCEPT = "application/json, text/event-stream"
JSON = {"Accept": ACCEPT, "Content-Type": "application/json"}
MODERN = "2026-07-28"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    store = tmp_path_factory.mktemp("door") / "memory.db"
    with http_server(store, "--no-tokens", "--toolsets", "all") as server:
        yield server


def message(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


def modern(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return message(method, {**(params or {}), "_meta": meta})


ERAS = {
    "2025": (message("tools/list"), JSON),
    "2026": (
        modern("tools/list"),
        JSON | {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"},
    ),
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
    with anyio.fail_after(HANG_S):
        async with Client(server.url, mode=mode) as client:
            pattern = {
                "domain": "net",
                "pattern": f"Lessons travel over {mode}.",
                "confidence": 0.5,
                "evidence": "Seen",
            }
            result = await client.call_tool(
                "store_memory", {"programId": "basher", "pattern": pattern}
            )
            assert not result.is_error, result.content


def test_a_plain_request_is_answered_in_both_eras(
    server: HttpServer, request_of_era: tuple[dict[str, Any], dict[str, str]]
) -> None:
    body, headers = request_of_era
    assert "store_memory" in tools_of(httpx2.post(server.url, json=body, headers=headers))


@pytest.mark.parametrize("session", ["never-opened", "0" * 32])
def test_a_session_that_this_server_does_not_know_is_served(
    server: HttpServer, session: str
) -> None:
    headers = JSON | {"Mcp-Session-Id": session}
    assert "store_memory" in tools_of(
        httpx2.post(server.url, json=message("tools/list"), headers=headers)
    )


def test_no_answer_opens_a_session(server: HttpServer) -> None:
    about = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    answer = httpx2.post(server.url, json=message("initialize", about), headers=JSON)
    assert (answer.status_code, answer.headers.get("mcp-session-id")) == (200, None)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
@pytest.mark.parametrize("headers", [headers for _, headers in ERAS.values()])
def test_the_endpoint_has_no_stream_to_open_and_no_session_to_end(
    server: HttpServer, method: str, headers: dict[str, str]
) -> None:
    answer = httpx2.request(method, server.url, headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_no_stream_of_changes_is_held_open(server: HttpServer) -> None:
    body = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    headers = ERAS["2026"][1] | {"Mcp-Method": "subscriptions/listen"}
    answer = httpx2.post(server.url, json=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32601)


Refusal = tuple[int, dict[str, str]]
REFUSALS: dict[str, Refusal] = {
    "another host": (421, {"Host": "evil.example"}),
    "another host on our port": (421, {"Host": "evil.example:8765"}),
    "a host that begins like ours": (421, {"Host": "localhost.evil.example"}),
    "no host": (421, {"Host": ""}),
    "another origin": (403, {"Origin": "https://evil.example"}),
    "an origin that begins like ours": (403, {"Origin": "http://localhost.evil.example"}),
    "a host with a port that is none": (421, {"Host": "localhost:1@evil.example"}),
    "an origin with a port that is none": (403, {"Origin": "http://localhost:3000.evil.example"}),
    "an origin without a name": (403, {"Origin": "null"}),
    "no stream accepted": (406, {"Accept": "application/json"}),
    "no JSON accepted": (406, {"Accept": "text/event-stream"}),
    "a form": (400, {"Content-Type": "application/x-www-form-urlencoded"}),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_request_that_is_not_ours_is_refused_in_both_eras(
    server: HttpServer, case: str, request_of_era: tuple[dict[str, Any], dict[str, str]]
) -> None:
    status, headers = REFUSALS[case]
    body, usual = request_of_era
    answer = httpx2.post(server.url, json=body, headers=usual | headers)
    assert answer.status_code == status
    assert len(answer.text) < 200
    assert "Traceback" not in answer.text
    assert ("--allowed-host" in answer.text) == (status == 421)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "LocalHost", "[::1]:8765"])
def test_the_names_of_this_machine_are_answered(server: HttpServer, host: str) -> None:
    headers = JSON | {"Host": host, "Origin": f"http://{host}"}
    assert httpx2.post(server.url, json=message("tools/list"), headers=headers).status_code == 200


@pytest.mark.parametrize("name", ["Origin", "Authorization"])
def test_a_header_that_decides_is_sent_once(server: HttpServer, name: str) -> None:
    values = {"Origin": "http://localhost", "Authorization": "Bearer x"}
    headers = [*JSON.items(), (name, values[name]), (name, values[name])]
    answer = httpx2.post(server.url, json=message("tools/list"), headers=headers)
    assert (answer.status_code, len(answer.text) < 100) == (400, True)


@pytest.mark.parametrize(
    "path", ["", "/", "/mcpx", "/mcp/tools", "/sse", "/docs", "/../etc/passwd", "/healthz/x"]
)
def test_another_path_is_not_found(server: HttpServer, path: str) -> None:
    answer = httpx2.post(f"{server.base}{path}", json=message("tools/list"), headers=JSON)
    assert (answer.status_code, answer.text) == (404, "Not Found")


@pytest.mark.parametrize("slashes", ["", "/", "//"])
def test_a_slash_at_the_end_of_the_endpoint_is_no_redirect(
    server: HttpServer, slashes: str
) -> None:
    answer = httpx2.post(f"{server.url}{slashes}", json=message("tools/list"), headers=JSON)
    assert answer.status_code == 200


BROKEN = {
    "no JSON": b"{",
    "an array": b"[]",
    "a number": b"7",
    "no UTF-8": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "no method": b'{"zebra": "figs"}',
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("headers", [headers for _, headers in ERAS.values()])
def test_a_body_that_is_no_message_is_a_plain_refusal(
    server: HttpServer, case: str, headers: dict[str, str]
) -> None:
    answer = httpx2.post(server.url, content=BROKEN[case], headers=headers)
    assert answer.status_code == 400
    assert set(answer.json()) == {"jsonrpc", "id", "error"}
    assert answer.json()["error"]["message"].startswith(
        (
            "Parse error",
            "Validation error",
            "Body must be a single JSON-RPC request or notification object",
        )
    )


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(0, size, 65536):
        yield b" " * 65536


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_body_over_the_limit_is_refused(server: HttpServer, *, is_declared: bool) -> None:
    size = 2 * MAX_BODY_BYTES
    answer = httpx2.post(
        server.url, content=b" " * size if is_declared else chunks(size), headers=JSON
    )
    assert (answer.status_code, answer.text) == (413, "Request body too large")


def test_headers_without_an_end_are_refused(server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        with suppress(ConnectionError):
            for _ in range(1_000):  # 64 MB, if the server took them
                connection.sendall(b"X-Long: " + b"x" * 65_536)
            pytest.fail("it took every header")
    assert httpx2.get(f"{server.base}/healthz").status_code == 200


@pytest.mark.parametrize("first", ["POST /mcp", "GET /healthz", "POST /nowhere"])
@pytest.mark.parametrize("chunked", ["Transfer-Encoding: chunked", "transfer-encoding:\tChunked"])
def test_no_second_request_comes_through_in_the_body_of_one_with_two_lengths(
    server: HttpServer, first: str, chunked: str
) -> None:
    chunks, second = "0\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    # a proxy that goes by it takes both for one request
    length = f"Content-Length: {len(chunks + second)}"
    headers = [
        f"{first} HTTP/1.1",
        "Host: localhost",
        "Connection: keep-alive",
        *(f"{n}: {v}" for n, v in JSON.items()),
    ]
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as connection:
        connection.sendall("\r\n".join([*headers, length, chunked, "", chunks + second]).encode())
        answers = connection.makefile("rb").read().decode()  # until it is closed
    assert re.findall(r"HTTP/1.1 (\d+)", answers) == ["400"]
    assert answers.endswith("\r\n\r\nSend Content-Length or Transfer-Encoding, not both.")


def test_it_reports_that_it_lives_and_that_its_store_answers(server: HttpServer) -> None:
    answers = [
        httpx2.get(f"{server.base}{path}", headers={"Host": "10.0.0.7:8080"})
        for path in ("/healthz", "/readyz")
    ]
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (200, {"alive": True}),
        (200, {"ready": True}),
    ]


def test_garbage_gets_no_more_than_a_line_and_the_server_goes_on(server: HttpServer) -> None:
    for garbage in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GET\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\0" * 1000 + b"\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as connection:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
            assert len(connection.recv(10_000)) < 300
    assert httpx2.get(f"{server.base}/healthz").status_code == 200
    assert not [line for line in server.log if "Traceback" in line]


def test_requests_that_nobody_vouches_for_do_not_fill_the_log(server: HttpServer) -> None:
    before = len(server.log)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as connection:
            connection.sendall(b"GET\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 400"
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
        assert httpx2.get(f"{server.base}/healthz", headers=upgrade).status_code == 200
    assert len(server.log) - before <= 3  # of each kind one a minute


def test_no_answer_waits_for_an_acknowledgement() -> None:
    with _bound(Bind("127.0.0.1", 0)) as listener:
        assert (
            listener.proto == socket.IPPROTO_TCP
        )  # of such sockets alone asyncio switches Nagle's algorithm off


class SilentFleet(LazyFleet):
    """A fleet whose store never answers."""

    async def fleet(self) -> Fleet:
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.anyio
async def test_a_store_that_is_silent_is_in_the_log_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_app, "READY_WITHIN_S", 0.01)
    app = Starlette(routes=health_routes(SilentFleet(load({}, {}), clock(None))))
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1"
    ) as client:
        answer = await client.get("/readyz")
    reason = "The store did not answer within 0.01 seconds."
    assert (answer.status_code, answer.json()) == (
        503,
        {"ready": False, "reason": f"store_unavailable: {reason}"},
    )
    assert caplog.messages == [f"not ready: {reason}"]
