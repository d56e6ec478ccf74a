"""The life of an HTTP server: who may start one, who may call it, and how it ends."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from fleet_memory.clock import clock
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import NewToken, create_token, revoke_tokens_of
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.app import HOST_ADVICE
from fleet_memory.settings import load
from tests import forked
from tests.bounds import HANG_S
from tests.endpoint import Endpoint, served
from tests.http_server import HttpServer, http_server

JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PAGE = (Path(__file__).parents[1] / "docs" / "http.md").read_text(encoding="utf-8")
PUBLIC = "https://mem.example.com/team"


def call(tool: str, **arguments: object) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


def asked(url: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
    return httpx2.post(url, json=body, headers=JSON | headers, timeout=HANG_S)


def result(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    (line,) = [
        line for line in answer.text.splitlines() if "{" in line
    ]  # of JSON, or of a stream of one event
    found: dict[str, Any] = json.loads(line.removeprefix("data: "))["result"]
    return found


HEALTH = call("memory_health", programId="basher")


@asynccontextmanager
async def fleet_in(store: Path) -> AsyncIterator[Fleet]:
    lazy = LazyFleet(load({"store": str(store), "embedder": "lexical"}, {}), clock(None))
    with anyio.fail_after(HANG_S):
        yield await lazy.fleet()
    await lazy.close()


def token_of(store: Path, program: str = "basher") -> str:
    async def create() -> str:
        async with fleet_in(store) as fleet:
            return (await create_token(fleet, NewToken(program))).token

    return anyio.run(create)


@contextmanager
def passed_socket(listener: socket.socket, store: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve on a socket that the caller passes as systemd does."""
    serve = f"{shlex.quote(sys.executable)} -m fleet_memory serve --http 127.0.0.1:0 --metrics off"
    words = f"exec env LISTEN_FDS=1 LISTEN_PID=$$ {serve} --no-tokens --embedder lexical 3<&0"
    environment = {**os.environ, "FLEET_MEMORY_STORE": str(store)}
    process = subprocess.Popen(["sh", "-c", words], stdin=listener.fileno(), env=environment)  # noqa: S603, S607 our words
    try:
        yield process
    finally:
        process.kill()
        process.wait(HANG_S)


def revoke_all(store: Path, program: str = "basher") -> None:
    async def revoke() -> None:
        async with fleet_in(store) as fleet:
            await revoke_tokens_of(fleet, program)

    anyio.run(revoke)


def refused(store: Path, *flags: str) -> tuple[int, str]:
    """Start a server that must not serve; return its exit code and its last words."""
    words = [
        *forked.words(),
        "serve",
        "--store",
        str(store),
        "--embedder",
        "lexical",
        *flags,
    ]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=False)  # noqa: S603 our words
    assert ended.stdout == ""
    return ended.returncode, ended.stderr


EXPOSED = {
    "another address": ["--http", "0.0.0.0:0"],
    "a public URL": ["--http", "127.0.0.1:0", "--public-url", PUBLIC],
    "an allowed host": ["--http", "127.0.0.1:0", "--allowed-host", "mem.example.com"],
    "a name of this machine as public URL": [
        *("--http", "127.0.0.1:0", "--public-url", "https://localhost")
    ],
    "this machine": ["--http", "127.0.0.1:0"],
}


@pytest.mark.parametrize("case", EXPOSED)
def test_a_server_needs_a_live_token(tmp_path: Path, case: str) -> None:
    store = tmp_path / "memory.db"
    words = (
        "fleet-memory: --http: callers need a token, and this fleet has no live one. "
        f"Create one: fleet-memory token create --program NAME --store {store} --fleet default; "
        "or serve this machine alone without: --no-tokens\n"
    )
    if case == "another address":
        token_of(store)
        revoke_all(store)
    assert refused(store, *EXPOSED[case]) == (2, words)


@pytest.mark.parametrize("case", EXPOSED)
def test_with_a_token_it_starts_and_serves_its_bearer_alone(tmp_path: Path, case: str) -> None:
    store = tmp_path / "memory.db"
    token = token_of(store)
    _, bind, *flags = EXPOSED[case]
    with http_server(store, *flags, bind=bind) as server:
        headers: list[dict[str, str]] = [{}, {"Authorization": f"Bearer {token}x"}]
        refusals = [asked(server.url, HEALTH, **each) for each in headers]
        assert [answer.status_code for answer in refusals] == [401, 401]
        assert {answer.text for answer in refusals} == {
            refusals[0].text
        }  # no hint whether there is such a token
        assert not result(asked(server.url, HEALTH, Authorization=f"Bearer {token}"))["isError"]
        assert httpx2.get(f"{server.base}/healthz").status_code == 200


def test_the_request_of_the_page_is_answered_to_a_program_without_a_client_of_the_protocol(
    tmp_path: Path,
) -> None:
    token = token_of(tmp_path / "memory.db")
    (curl,) = re.findall(r"curl https://mem\.example\.com/mcp (.*?)```", PAGE, re.DOTALL)
    words = shlex.split(curl.replace("$FLEET_MEMORY_TOKEN", token))
    headers = dict(words[at + 1].split(": ") for at, word in enumerate(words) if word == "--header")
    body = json.loads(words[words.index("--data") + 1])
    with http_server(tmp_path / "memory.db") as server:
        answer = result(asked(server.url, body, **headers))
    assert (answer["isError"], answer["structuredContent"]["total"]) == (False, 0)


def test_one_that_knows_no_name_of_its_own_says_at_its_start_that_other_machines_are_refused(
    tmp_path: Path,
) -> None:
    store = tmp_path / "memory.db"
    token_of(store)
    advice = f"other machines get 421: {HOST_ADVICE}"
    given: dict[str, list[str]] = {"no name": [], "a name": ["--allowed-host", "mem.internal"]}
    warned = {}
    for case, flags in given.items():
        with http_server(store, *flags, bind="0.0.0.0:0") as server:
            pass
        warned[case] = advice in server.log
    assert warned == {"no name": True, "a name": False}


NO_TOKENS = "no tokens: every program on this machine may read and write this memory"


def test_without_tokens_it_says_so_at_its_start_and_lets_every_caller_in(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    token_of(store, "wren")
    with http_server(store, "--no-tokens") as server:
        assert server.line(NO_TOKENS) == NO_TOKENS
        for headers in ({}, {"Authorization": "Bearer of-no-fleet"}):
            assert not result(asked(server.url, HEALTH, **headers))["isError"]


NOT_ALONE = {
    "another address": ["--http", "0.0.0.0:0"],
    "a public URL": ["--http", "127.0.0.1:0", "--public-url", PUBLIC],
    "a name of this machine": ["--http", "127.0.0.1:0", "--public-url", "https://localhost"],
    "an allowed host": ["--http", "127.0.0.1:0", "--allowed-host", "localhost"],
    "an issuer": ["--http", "127.0.0.1:0", "--issuer", "https://login.example.com"],
}


@pytest.mark.parametrize("case", NOT_ALONE)
def test_where_others_may_reach_it_no_flag_does_without_tokens(tmp_path: Path, case: str) -> None:
    code, words = refused(tmp_path / "memory.db", "--no-tokens", *NOT_ALONE[case])
    assert (code, words.startswith("fleet-memory: --no-tokens: is for this machine alone")) == (
        2,
        True,
    )


def test_one_bound_to_a_program_takes_no_tokens(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    token_of(store)
    code, words = refused(store, "--http", "127.0.0.1:0", "--program", "basher")
    assert (code, words.startswith("fleet-memory: --program: does not count where")) == (2, True)
    with http_server(store, "--no-tokens", "--program", "basher") as server:
        assert not result(asked(server.url, HEALTH))["isError"]
        refusal = result(asked(server.url, call("memory_health", programId="wren")))
        assert refusal["content"][0]["text"].startswith("forbidden: ")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--http", "8765"], "--http: '8765' is no HOST:PORT"),
        (
            ["--http", "127.0.0.1:0", "--allowed-host", "https://mem.example.com"],
            "--allowed-host: 'https://mem",
        ),
        (["--http", "127.0.0.1:0", "--allowed-host", "*"], "--allowed-host: '*' is no host"),
        (
            ["--http", "127.0.0.1:0", "--allowed-host", "mem.example.com:99999"],
            "--allowed-host: 'mem.example.com:99999'",
        ),
        (
            ["--http", "127.0.0.1:0", "--allowed-host", "[:::::]"],
            "--allowed-host: '[:::::]' is no host",
        ),
        (["--http", "127.0.0.1:0", "--metrics", f"{'a' * 70}.com:80"], "--metrics: 'aaaa"),
        (["--http", "203.0.113.7:0"], "--http: 203.0.113.7:0 cannot be bound: "),
        (["--no-tokens"], "--no-tokens: counts with --http alone"),
        (["--allowed-host", "mem.example.com"], "--allowed-host: counts with --http alone"),
    ],
)
def test_unusable_flags_are_reported_before_anything_is_stored(
    tmp_path: Path, flags: list[str], words: str
) -> None:
    code, said = refused(tmp_path / "memory.db", *flags)
    assert (code, said.startswith(f"fleet-memory: {words}"), said.count("\n")) == (2, True, 1), said
    assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(sys.platform == "win32", reason="systemd's")
def test_on_a_socket_of_systemd_callers_wait_for_a_restart(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as threads:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/healthz"

        def answer() -> int:
            return httpx2.get(url, timeout=HANG_S).status_code

        first = threads.submit(answer)
        with passed_socket(listener, tmp_path / "memory.db") as server:
            assert first.result(HANG_S) == 200
            server.terminate()
            assert server.wait(HANG_S) == 0
        during = threads.submit(answer)
        with passed_socket(listener, tmp_path / "memory.db"):
            assert during.result(HANG_S) == 200


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with http_server(tmp_path / "memory.db", "--no-tokens") as server:
        code, words = refused(tmp_path / "other.db", "--http", f"127.0.0.1:{server.port}")
    assert (code, f"127.0.0.1:{server.port} cannot be bound: " in words) == (2, True)


def test_a_port_that_is_taken_between_the_checks_and_the_start_is_named(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    code, words = refused(
        tmp_path / "memory.db", "--no-tokens", "--http", address, "--metrics", address
    )
    assert (code, f"{address} cannot be bound: " in words, "Traceback" in words) == (2, True, False)


def test_a_store_that_does_not_open_ends_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    code, words = refused(tmp_path / "file" / "memory.db", "--http", "127.0.0.1:0")
    assert (code, "Traceback" in words) == (3, False)


OTHER_NAMES = ["--allowed-host", "mem.internal:8443", "--allowed-host", "Mem.Example.net"]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HttpServer, str]]:
    store = tmp_path_factory.mktemp("public") / "memory.db"
    token = token_of(store)
    with http_server(store, "--public-url", f"{PUBLIC}/", *OTHER_NAMES) as server:
        yield server, token


def test_it_prints_the_address_for_clients_at_its_start(public: tuple[HttpServer, str]) -> None:
    server, _ = public
    second = server.line("clients reach it at ")
    assert [server.log[0], second] == [
        f"fleet-memory serves {server.url}",
        f"clients reach it at {PUBLIC}/mcp",
    ]


@pytest.mark.parametrize("path", ["/mcp", "/team/mcp", "/team/mcp/"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "mem.example.com", "Origin": "https://mem.example.com"},
        {"Host": "mem.example.com:443"},
        {"Host": "mem.internal:8443"},
        {"Host": "MEM.example.net", "Origin": "https://mem.example.net"},
        {"Host": "127.0.0.1:8765"},
    ],
)
def test_it_is_served_under_its_public_names_whether_or_not_a_proxy_passes_the_path_on(
    public: tuple[HttpServer, str], path: str, headers: dict[str, str]
) -> None:
    server, token = public
    answer = asked(server.base + path, HEALTH, Authorization=f"Bearer {token}", **headers)
    assert not result(answer)["isError"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (421, {"Host": "example.com"}),
        (421, {"Host": "mem.example.com.evil.example"}),
        (421, {"Host": "mem.internal"}),
        (
            421,
            {
                "Host": "evil.example",
                "X-Forwarded-Host": "mem.example.com",
                "Forwarded": "host=mem.example.com",
            },
        ),
        (403, {"Host": "mem.example.com", "Origin": "https://evil.example"}),
        (403, {"Host": "mem.example.com", "Origin": "https://mem.example.com.evil.example"}),
    ],
)
def test_behind_a_public_name_other_hosts_and_origins_stay_refused(
    public: tuple[HttpServer, str], status: int, headers: dict[str, str]
) -> None:
    server, token = public
    answer = asked(server.url, HEALTH, Authorization=f"Bearer {token}", **headers)
    assert answer.status_code == status


@pytest.mark.parametrize("path", ["/team", "/teammcp", "/team/team/mcp", "/other/mcp", "/team/x"])
def test_a_path_outside_the_prefix_is_not_found(public: tuple[HttpServer, str], path: str) -> None:
    server, token = public
    answer = asked(server.base + path, HEALTH, Authorization=f"Bearer {token}")
    assert answer.status_code == 404


def test_its_health_is_under_the_prefix_too(public: tuple[HttpServer, str]) -> None:
    server, _ = public
    answers = [
        httpx2.get(f"{server.base}{path}") for path in ("/team/healthz", "/team/readyz", "/readyz")
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]


def test_a_store_that_fails_is_reported_without_its_path_and_the_process_lives(
    tmp_path: Path,
) -> None:
    store = tmp_path / "memory.db"
    with http_server(store, "--no-tokens") as server:
        assert httpx2.get(f"{server.base}/readyz").status_code == 200
        for file in tmp_path.iterdir():
            file.write_bytes(b"this is no database" * 1_000)
        while (answer := httpx2.get(f"{server.base}/readyz")).status_code == 200:
            assert server.process.poll() is None  # an answer counts for two seconds
        assert (answer.status_code, answer.json()["ready"]) == (503, False)
        assert answer.json()["reason"].startswith("store_unavailable: ")
        assert str(tmp_path) not in answer.text
        assert httpx2.get(f"{server.base}/healthz").status_code == 200


def test_a_token_that_cannot_be_checked_is_no_reason_to_call_the_process_dead(
    tmp_path: Path,
) -> None:
    store = tmp_path / "memory.db"
    bearer = {"Authorization": f"Bearer {token_of(store)}"}
    with http_server(store) as server:
        for file in tmp_path.iterdir():
            file.write_bytes(b"this is no database" * 1_000)
        assert asked(server.url, HEALTH, **bearer).status_code == 503
        assert httpx2.get(f"{server.base}/healthz", headers=bearer).status_code == 200
        assert httpx2.get(f"{server.base}/readyz", headers=bearer).json()["ready"] is False
        assert httpx2.get(f"{server.base}/nothing", headers=bearer).status_code == 404


@pytest.fixture
def slow() -> Iterator[Endpoint]:
    """An endpoint of an embedder that answers when the test is over, or released."""
    with served() as endpoint:
        endpoint.script.append(endpoint.never)
        yield endpoint


LESSON = {
    "domain": "net",
    "pattern": "Drain before you leave.",
    "confidence": 0.5,
    "evidence": "Seen",
}
STORE = call("store_memory", programId="basher", pattern=LESSON)
MODERN = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "store_memory",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
OPENAI = ("--embedder", "openai:m")
ERAS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "2025": (STORE, {}),
    "2026": (STORE | {"params": STORE["params"] | {"_meta": META}}, MODERN),
}


@pytest.mark.parametrize(
    ("era", "ending"), [("2025", signal.SIGTERM), ("2026", signal.SIGTERM), ("2025", signal.SIGINT)]
)
def test_a_call_under_way_is_answered_before_the_server_leaves(
    tmp_path: Path, slow: Endpoint, era: str, ending: signal.Signals
) -> None:
    body, headers = ERAS[era]
    env = {"FLEET_MEMORY_EMBEDDER_URL": slow.url}
    with (
        http_server(tmp_path / "memory.db", "--no-tokens", *OPENAI, env=env) as server,
        ThreadPoolExecutor() as pool,
        httpx2.Client() as resting,
    ):
        assert resting.get(f"{server.base}/healthz").status_code == 200
        calling: Future[httpx2.Response] = pool.submit(asked, server.url, body, **headers)
        while not slow.asked:
            assert not calling.done()
        server.process.send_signal(ending)
        while is_answered(server):
            assert not calling.done()
        with pytest.raises(TimeoutError):
            calling.result(
                2
            )  # nor is it cut off: sse-starlette would, half a second after the signal
        slow.released.set()
        assert result(calling.result(HANG_S))["structuredContent"]["status"] == "created"
        assert server.process.wait(HANG_S) == 0
        assert not [line for line in server.log if "Traceback" in line]


def test_a_second_signal_cuts_the_calls_under_way_and_says_so_in_one_line(
    tmp_path: Path, slow: Endpoint
) -> None:
    env = {"FLEET_MEMORY_EMBEDDER_URL": slow.url}
    with (
        http_server(tmp_path / "memory.db", "--no-tokens", *OPENAI, env=env) as server,
        ThreadPoolExecutor() as pool,
    ):
        calling: Future[httpx2.Response] = pool.submit(asked, server.url, STORE)
        while not slow.asked:
            assert not calling.done()
        server.process.send_signal(signal.SIGTERM)
        while is_answered(server):
            assert not calling.done()
        code = server.end(signal.SIGTERM)
        assert isinstance(calling.exception(HANG_S), httpx2.TransportError)
    assert (code, [line.partition(": ")[2] for line in server.log[2:]]) == (
        128 + signal.SIGTERM,
        ["calls under way that were cut: 1; clients may repeat them"],
    )


def is_answered(server: HttpServer) -> bool:
    try:
        return httpx2.get(f"{server.base}/healthz").status_code == 200
    except httpx2.TransportError:
        return False
