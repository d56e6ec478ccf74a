"""Two servers on one store, ended in the midst of traffic: acknowledged writes stay, clients that
retry succeed.
"""

import itertools
import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from agents import opened
from fleets import fleet_on
from kills import KILLS
from settling import look_again
from web_agents import UNLIMITED, tokens_of

from fleet_memory.jobs.tokens import revoke_token
from fleet_memory.server.http.access import MAX_AGE_S
from tests.bounds import HANG_S
from tests.http_server import HttpServer, http_server

pytestmark = [pytest.mark.anyio, pytest.mark.kills]

CLIENTS = 6
PROGRAMS = 8  # of each client, one after the other
LESSONS = 60  # of each program: fewer than a program holds outside its pages
BETWEEN_KILLS = 3 * CLIENTS  # acknowledged stores, by all clients
PAUSE_S = 0.05  # of a client between two stores
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


class Replicas:
    """Servers on one store; an ended one is replaced, without notice to the clients."""

    def __init__(self, address: str, stack: ExitStack) -> None:
        self._address = address
        self._stack = stack
        self.servers: list[HttpServer] = []

    def start(self) -> HttpServer:
        return self._stack.enter_context(http_server(self._address, env=UNLIMITED))

    async def replace(self, number: int, how: signal.Signals) -> int:
        """End one, start another in its place, and return the exit code of the first."""
        code = await anyio.to_thread.run_sync(self.servers[number].end, how)
        self.servers[number] = await anyio.to_thread.run_sync(self.start)
        return code

    def urls(self) -> Iterator[str]:
        """Yield the addresses of both in turn, without an end."""
        for number in itertools.count():
            yield self.servers[number % len(self.servers)].url


@contextmanager
def replicas_on(address: str) -> Iterator[Replicas]:
    with ExitStack() as stack:
        replicas = Replicas(address, stack)
        replicas.servers = [replicas.start(), replicas.start()]
        yield replicas


async def answer_of(
    web: httpx2.AsyncClient, url: str, token: str, tool: str, arguments: object
) -> Mapping[str, Any]:
    """Call a tool without a client library, and return its result; raise TransportError where it is
    not whole.
    """
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    response = await web.post(
        url, json=body, headers={**HEADERS, "Authorization": f"Bearer {token}"}
    )
    if response.status_code == 503:
        raise httpx2.TransportError("the server leaves")
    response.raise_for_status()
    lines = [
        line.removeprefix("data: ")
        for line in response.text.splitlines()
        if line.startswith("data: ")
    ]
    if not lines:
        raise httpx2.TransportError("the answer was cut")
    message: dict[str, Any] = json.loads(lines[-1])
    result: Mapping[str, Any] = message["result"]
    return result


async def stored(
    web: httpx2.AsyncClient, urls: Iterator[str], token: str, program: str, name: str
) -> None:
    """Store a lesson, at the next server where one does not answer, until it is acknowledged."""
    pattern = {
        "id": name,
        "pattern": f"Lesson {name}",
        "domain": "claims",
        "confidence": 0.8,
        "evidence": "seen",
    }
    for url in urls:
        try:
            result = await answer_of(
                web, url, token, "store_memory", {"programId": program, "pattern": pattern}
            )
        except httpx2.TransportError:
            await look_again()
            continue
        if not result["isError"]:
            assert result["structuredContent"]["status"] in ("created", "unchanged"), result
            return
        assert "(retryable)" in result["content"][0]["text"], result


def program_of(client: int, count: int) -> str:
    return f"client-{client}-{count // LESSONS % PROGRAMS}"


async def test_nothing_acknowledged_is_lost_when_replicas_end_and_clients_that_retry_succeed(
    store_address: str,
) -> None:
    programs = [
        program_of(client, LESSONS * number)
        for client in range(CLIENTS)
        for number in range(PROGRAMS)
    ]
    tokens = dict(zip(programs, await tokens_of(store_address, programs), strict=True))
    acknowledged: set[tuple[str, str]] = set()
    is_over = False

    async def work(client: int) -> None:
        urls = replicas.urls()
        async with httpx2.AsyncClient(timeout=HANG_S) as web:
            for count in range(PROGRAMS * LESSONS):
                if is_over:
                    return
                program, name = program_of(client, count), f"{client}-{count}"
                await stored(web, urls, tokens[program], program, name)
                acknowledged.add((program, name))
                await anyio.sleep(PAUSE_S)

    with replicas_on(store_address) as replicas, anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as together:
            for client in range(CLIENTS):
                together.start_soon(work, client)
            for number in range(2 * KILLS):
                enough = len(acknowledged) + BETWEEN_KILLS
                while len(acknowledged) < enough:
                    await look_again()
                how = (signal.SIGTERM, signal.SIGKILL)[number % 2]
                code = await replicas.replace(number % 2, how)
                assert code == (0 if how == signal.SIGTERM else -signal.SIGKILL)
            is_over = True
        assert await kept_of(replicas.servers[0].url, tokens) >= acknowledged
    assert len(acknowledged) >= 2 * KILLS * BETWEEN_KILLS


async def kept_of(url: str, tokens: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the lessons that each program recalls."""
    kept: set[tuple[str, str]] = set()
    async with httpx2.AsyncClient(timeout=HANG_S) as web:
        for program, token in tokens.items():
            asked = {"programId": program, "scope": "own", "limit": 100, "maxTokens": 100_000}
            result = await answer_of(web, url, token, "recall_memory", asked)
            kept |= {(program, each["id"]) for each in result["structuredContent"]["patterns"]}
    return kept


async def test_a_revoked_token_ends_on_every_server_that_has_seen_it(store_address: str) -> None:
    assert MAX_AGE_S <= 5
    token, other = await tokens_of(store_address, ["basher", "iso"])
    with replicas_on(store_address) as replicas:
        assert await replicas.replace(0, signal.SIGTERM) == 0
        assert await replicas.replace(1, signal.SIGKILL) == -signal.SIGKILL
        async with httpx2.AsyncClient(timeout=HANG_S) as web:
            for server in replicas.servers:
                assert await status_of(web, server.url, token, "basher") == 200
            async with opened(store_address) as store:
                await revoke_token(fleet_on(store), token)
            with anyio.fail_after(HANG_S):
                for server in replicas.servers:
                    while await status_of(web, server.url, token, "basher") != 401:
                        await look_again()
            for server in replicas.servers:
                assert await status_of(web, server.url, other, "iso") == 200


async def status_of(web: httpx2.AsyncClient, url: str, token: str, program: str) -> int:
    """Return the HTTP status of a call for the program's health."""
    try:
        result = await answer_of(web, url, token, "memory_health", {"programId": program})
    except httpx2.HTTPStatusError as error:
        return error.response.status_code
    assert not result["isError"]
    return 200
