"""Clients that mean no good: they drip, send garbage, send too much, or stay silent."""

import itertools
import json
import random
from collections.abc import Iterator
from functools import partial

import anyio
from anyio.abc import SocketStream

DRIP_S = 0.5  # between two bytes of a client that drips
CUT_WITHIN_S = 90  # far longer than a request may take
BURST = 50  # connections at once: half of what a listener keeps waiting
CHUNK = b"x" * 65_536
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_health", "arguments": {}},
}
ACCEPT = "application/json, text/event-stream"


async def drip_headers(port: int) -> bytes:
    """Send the headers of a request byte by byte, without an end, until the server hangs up; return
    its last words.
    """
    letters = itertools.chain(
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", itertools.repeat(ord("x"))
    )
    return await _dripped(port, b"", letters)


async def drip_body(port: int, token: str) -> bytes:
    """Send whole headers and the body byte by byte, until the server hangs up; return its last
    words.
    """
    return await _dripped(
        port,
        head(port, token, 100_000),
        itertools.chain(b'{"jsonrpc":', itertools.repeat(ord(" "))),
    )


async def _dripped(port: int, first: bytes, letters: Iterator[int]) -> bytes:
    with anyio.fail_after(CUT_WITHIN_S):
        async with (
            await anyio.connect_tcp("127.0.0.1", port) as stream,
            anyio.create_task_group() as sending,
        ):
            sending.start_soon(_drip, stream, first, letters)
            words = await last_words(stream)
            sending.cancel_scope.cancel()
    return words


async def _drip(stream: SocketStream, first: bytes, letters: Iterator[int]) -> None:
    try:
        await stream.send(first)
        for letter in letters:
            await stream.send(bytes([letter]))
            await anyio.sleep(DRIP_S)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # cut, as it should be


async def accepted_connections(port: int, count: int) -> list[SocketStream]:
    """Return connections that the server has accepted and that have sent nothing.

    The system keeps a burst longer than the listener's queue waiting for minutes, unknown to the
    server: so a few connect, then one asks something, which the server answers once it has accepted
    those in front of it.
    """
    streams = []
    for start in range(0, count, BURST):
        streams += [
            await anyio.connect_tcp("127.0.0.1", port) for _ in range(min(BURST, count - start))
        ]
        words = await send_once(
            port, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", is_whole=True
        )
        assert words.startswith(b"HTTP/1.1 200")
    return streams


async def say_nothing(stream: SocketStream) -> bytes:
    """Wait until the server hangs up; return its last words."""
    with anyio.fail_after(CUT_WITHIN_S):
        async with stream:
            return await last_words(stream)


async def send_too_much(port: int, token: str, size: int, *, chunked: bool) -> bytes:
    """Send a body of `size` bytes, its length announced or in chunks; return the answer."""
    with anyio.fail_after(CUT_WITHIN_S):
        async with (
            await anyio.connect_tcp("127.0.0.1", port) as stream,
            anyio.create_task_group() as sending,
        ):
            first = head(port, token, None if chunked else size)
            sending.start_soon(partial(_pour, stream, first, size, chunked=chunked))
            words = await last_words(stream)
            sending.cancel_scope.cancel()
    return words


async def _pour(stream: SocketStream, first: bytes, size: int, *, chunked: bool) -> None:
    frame = b"%x\r\n%s\r\n" % (len(CHUNK), CHUNK) if chunked else CHUNK
    try:
        await stream.send(first)
        for _ in range(size // len(CHUNK)):
            await stream.send(frame)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # refused before it was all sent


async def send_once(port: int, request: bytes, is_whole: bool) -> bytes:  # noqa: FBT001 a pair of `garbage`
    """Send bytes, hang up where they are no whole request, and return all that comes back."""
    with anyio.fail_after(CUT_WITHIN_S):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            try:
                await stream.send(request)
                if not is_whole:
                    await stream.send_eof()
            except (anyio.BrokenResourceError, OSError):
                pass  # refused at once
            return await last_words(stream)


async def last_words(stream: SocketStream) -> bytes:
    """Return all that the server sends until it hangs up."""
    words = b""
    try:
        while True:
            words += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return words


def head(port: int, token: str, length: int | None, path: str = "/mcp") -> bytes:
    """Return the headers of a POST with a body of this length, None for one in chunks."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = (
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        f"Accept: {ACCEPT}",
        f"Authorization: Bearer {token}",
        "Connection: close",
        size,
    )
    return "\r\n".join([*lines, "\r\n"]).encode()


def garbage(port: int, token: str, count: int) -> Iterator[tuple[bytes, bool]]:
    """Yield requests that are no good, and whether each is whole as HTTP goes.

    Noise, broken JSON, wrong messages, wrong tokens, wrong paths, bodies that end early.
    """
    chance = random.Random(15)  # noqa: S311 the same garbage in every run
    bodies = (
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"[" * 50_000,
        b"\xff\xfe\x00",
        b'{"jsonrpc": "2.0", "id": {}, "method": 7}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud83d"}}',
        json.dumps(
            CALL | {"params": {"name": "memory_health", "arguments": {"programId": "x" * 100_000}}}
        ).encode(),
        json.dumps(CALL | {"id": "9" * 5000}).encode(),
    )
    for number in range(count):
        body = bodies[number % len(bodies)]
        sent = token if number % 2 else f"fm_{'0' * chance.randrange(100)}"
        path = (
            "/mcp" if number % 7 else f"/{chance.randbytes(8).hex()}?{'x' * chance.randrange(500)}"
        )
        if number % 5 == 0:
            yield chance.randbytes(chance.randrange(1, 5000)), False
        elif number % 11 == 0:
            yield head(port, sent, len(body) + 100, path) + body, False
        else:
            yield head(port, sent, len(body), path) + body, True
