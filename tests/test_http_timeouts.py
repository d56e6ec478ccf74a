"""Clients that send too slowly, read too slowly or do not send at all: they are cut, and others are
served.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import NamedTuple

import anyio
import pytest
import uvicorn
from anyio.abc import SocketStream
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from fleet_memory.server.http.timeouts import TimedProtocol

pytestmark = pytest.mark.anyio
LIMIT_S = 30  # of one test: far longer than the server waits
GET = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n"
LONG = b"x" * 20_000_000  # bytes: more than the buffers of a connection take


class Hurried(TimedProtocol):
    """As served, with less patience."""

    request_s = 0.3
    max_waiting = 20

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.app_state["lost"].set()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer "ok" once the request is whole, much more to a GET of /long."""
    message = await receive()
    while message.get("more_body"):
        message = await receive()
    if message["type"] == "http.request":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send(
            {"type": "http.response.body", "body": LONG if scope["path"] == "/long" else b"ok"}
        )


class Served(NamedTuple):
    """The port of a server, its connections, and that one of them has ended."""

    port: int
    state: ServerState
    lost: anyio.Event


@asynccontextmanager
async def served() -> AsyncIterator[Served]:
    """Serve the app until the block ends."""
    config = uvicorn.Config(
        app, http=Hurried, lifespan="off", log_config=None, timeout_keep_alive=LIMIT_S
    )
    config.load()
    state, lost = ServerState(), anyio.Event()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Hurried(config, state, {"lost": lost}, loop), "127.0.0.1", 0
    )
    try:
        with anyio.fail_after(LIMIT_S):
            yield Served(server.sockets[0].getsockname()[1], state, lost)
    finally:
        server.close()
        for connection in [*state.connections]:
            connection.transport.abort()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[SocketStream]:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        yield stream


async def is_cut(stream: SocketStream) -> bool:
    """Wait until the server ends the connection, and read all that it sends until then."""
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            await stream.receive()
    return True


async def is_served(stream: SocketStream) -> bool:
    await stream.send(GET)
    answer = b""
    while not answer.endswith(b"0\r\n\r\n"):
        answer += await stream.receive()
    return answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "begun",
    [b"", b"G", GET[:-2], GET[:-2] + b"X-Slow: ", POST, POST + b"{", GET + GET[:-2], GET + POST],
)
async def test_a_request_that_is_not_whole_in_time_is_cut(begun: bytes) -> None:
    async with served() as (port, _, _), connected(port) as stream:
        if begun:
            await stream.send(begun)
        assert await is_cut(stream)


async def test_a_byte_now_and_then_gives_no_more_time() -> None:
    async with (
        served() as (port, _, _),
        connected(port) as slow,
        anyio.create_task_group() as tasks,
    ):

        async def drip() -> None:
            await slow.send(GET[:-2] + b"X-Slow: ")
            with suppress(anyio.BrokenResourceError):
                while True:
                    await slow.send(b"x")
                    await anyio.sleep(0.02)  # the client's pace

        tasks.start_soon(drip)
        assert await is_cut(slow)
        tasks.cancel_scope.cancel()


async def test_a_client_that_does_not_read_its_answer_is_cut() -> None:
    async with served() as (port, _, lost), connected(port) as stream:
        await stream.send(GET.replace(b"/ ", b"/long "))
        await lost.wait()
        assert lost.is_set()


async def test_a_client_that_reads_its_long_answer_gets_all_of_it() -> None:
    async with served() as (port, _, _), connected(port) as stream:
        await stream.send(GET.replace(b"/ ", b"/long "))
        answer = bytearray()
        while not answer.endswith(b"\r\n0\r\n\r\n"):
            answer += await stream.receive()
        assert LONG in answer


async def test_a_connection_may_rest_between_two_requests() -> None:
    async with served() as (port, _, _), connected(port) as resting, connected(port) as slow:
        assert await is_served(resting)
        await slow.send(GET[:-2])
        assert await is_cut(slow)  # which took longer than a request may
        assert await is_served(resting)


async def test_idle_connections_keep_no_client_out() -> None:
    async with served() as (port, state, _), AsyncExitStack() as idle:
        streams = [
            await idle.enter_async_context(connected(port)) for _ in range(3 * Hurried.max_waiting)
        ]
        for stream in streams[-5:]:
            assert await is_served(stream)
        assert len(state.connections) <= Hurried.max_waiting
        assert await is_cut(streams[0])
