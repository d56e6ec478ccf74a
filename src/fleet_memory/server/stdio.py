"""stdio: one client over stdin and stdout, in either era of the protocol.

`MCPServer.run` hangs on SIGINT until stdin closes, skips the lifespan on SIGTERM, drops replies at
EOF, and refuses `initialize` after `server/discover`, which clients send. Its loop is used here;
reading, writing and ending are ours.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias, TypeGuard, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.mcpserver import MCPServer
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.std_streams import Wire

# seconds that calls under way may take to end; clients send SIGTERM 2 s after closing our stdin
DRAIN_S = 1.5
LAST_WRITE_S = 1.0  # seconds that a client may take to read the last replies
# seconds from a signal to the end, even with calls running: longer than DRAIN_S and closing the
# store
LEAVE_S = 9.0

Inbox: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]
Outbox: TypeAlias = MemoryObjectSendStream[SessionMessage]

_T = TypeVar("_T")

_logger = logging.getLogger(__name__)


async def serve(server: MCPServer[LazyFleet], wire: Wire) -> int:
    """Serve until EOF, SIGINT or SIGTERM, finish calls under way, and return the exit code.

    A thread may stay parked in an unanswered read: leave the process by `os._exit`.
    """
    return await _Session(server, wire).run()


class _Session:
    def __init__(self, server: MCPServer[LazyFleet], wire: Wire) -> None:
        self._loop = (
            server._lowlevel_server
        )  # private: its `run_stdio_async` cannot be ended, see above
        self._wire = wire
        self._reader, self._writer = _Pipe(), _Pipe()
        self._reading = anyio.CancelScope()
        self._calls = _OpenCalls()
        self._signal = 0

    async def run(self) -> int:
        inbox, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, replies = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as whole:
            if sys.platform != "win32":  # asyncio on Windows has no signal receiver
                whole.start_soon(self._watch)
            async with anyio.create_task_group() as io:
                io.start_soon(self._read, inbox, outbox.clone())
                io.start_soon(self._write, replies)
                await self._loop.run(requests, outbox, self._loop.create_initialization_options())
                io.cancel_scope.deadline = anyio.current_time() + LAST_WRITE_S
            whole.cancel_scope.cancel()
        return 128 + self._signal if self._signal else 0

    async def _watch(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            self._signal = await anext(signals)
            self._reading.cancel()  # the server sees the same as at EOF
            with anyio.move_on_after(LEAVE_S):
                await anext(signals)  # asked twice: at once
            os._exit(128 + self._signal)

    async def _read(self, inbox: Inbox, outbox: Outbox) -> None:
        async with inbox, outbox:
            with self._reading:
                await self._forward(inbox, outbox)
            with anyio.move_on_after(DRAIN_S):
                await self._calls.ended()

    async def _forward(self, inbox: Inbox, outbox: Outbox) -> None:
        probing = True  # until a request that is no probe decides the era
        while line := await self._reader.run(self._wire.source.readline):
            message = _parsed(line)
            if isinstance(message, _Unreadable):
                if message.reply:
                    await outbox.send(SessionMessage(message.reply))
            elif probing and _is_probe(message):
                await self._answer_probe(message, outbox)
            else:
                probing = probing and not isinstance(message, JSONRPCRequest)
                self._calls.received(message)
                try:
                    inbox.send_nowait(
                        SessionMessage(message)
                    )  # `send` waits for a turn of the loop first
                except anyio.WouldBlock:
                    await inbox.send(SessionMessage(message))

    async def _answer_probe(self, probe: JSONRPCRequest, outbox: Outbox) -> None:
        """Answer `server/discover` on a loop of its own: the connection's would refuse `initialize`
        from then on.
        """
        inbox, requests = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        answers, replies = anyio.create_memory_object_stream[SessionMessage](1)
        async with anyio.create_task_group() as loop, inbox, replies:
            # No lifespan: a probe is answered before the fleet is there, and needs none.
            loop.start_soon(
                partial(serve_dual_era_loop, self._loop, requests, answers, lifespan_state=None)
            )
            await inbox.send(SessionMessage(probe))
            await outbox.send(await replies.receive())
            loop.cancel_scope.cancel()

    async def _write(self, replies: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with replies:
            async for reply in replies:
                frame = (
                    reply.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                    + b"\n"
                )
                try:
                    await self._writer.run(partial(self._put, frame))
                except OSError as error:
                    _logger.warning("the client no longer reads: %s", error)
                    self._reading.cancel()
                self._calls.answered(reply.message)

    def _put(self, frame: bytes) -> None:
        self._wire.sink.write(frame)
        self._wire.sink.flush()


class _Pipe:
    """A thread for reads or writes that may never return: neither a cancelled caller nor the end of
    the process waits for it, as they would for one of anyio's.
    """

    def __init__(self) -> None:
        self._turns: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    async def run(self, work: Callable[[], _T]) -> _T:
        outcome = Future[_T]()

        def turn() -> None:
            if outcome.set_running_or_notify_cancel():
                try:
                    outcome.set_result(work())
                except BaseException as failure:  # noqa: BLE001 - the caller raises it
                    outcome.set_exception(failure)

        self._turns.put(turn)
        return await asyncio.wrap_future(outcome)

    def _work(self) -> None:
        while True:
            self._turns.get()()


class _OpenCalls:
    """Requests that were read and not answered yet."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._changed = anyio.Event()

    def received(self, message: JSONRPCMessage) -> None:
        if (
            isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen"
        ):  # that one has no end
            self._ids.add(message.id)
        elif (
            isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled"
        ):
            self._discard((message.params or {}).get("requestId"))

    def answered(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._discard(message.id)

    async def ended(self) -> None:
        while self._ids:
            self._changed = anyio.Event()
            await self._changed.wait()

    def _discard(self, request_id: RequestId | None) -> None:
        self._ids.discard(request_id)
        self._changed.set()


class _Unreadable(NamedTuple):
    """A line that is no message, and the reply to it if it has an id."""

    reply: JSONRPCError | None


def _is_probe(message: JSONRPCMessage) -> TypeGuard[JSONRPCRequest]:
    return (
        isinstance(message, JSONRPCRequest)
        and message.method == "server/discover"
        and bool((message.params or {}).get("_meta"))
    )


def _parsed(line: bytes) -> JSONRPCMessage | _Unreadable:
    text = line.decode(errors="replace")
    try:
        return jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as error:
        _logger.warning("dropped a line that is no JSON-RPC message")
        return _Unreadable(_complaint(text, error))


def _complaint(text: str, error: ValidationError) -> JSONRPCError | None:
    # JavaScript writes half an emoji as "\ud83d", which is JSON but no Unicode: unanswered, that
    # client would wait.
    try:
        identity = json.loads(text)["id"]
        str(identity).encode()  # the id may be the broken part
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        return None
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    code, message = (
        (PARSE_ERROR, first["msg"])
        if first["type"] == "json_invalid"
        else (INVALID_REQUEST, "Invalid request")
    )
    return JSONRPCError(jsonrpc="2.0", id=identity, error=ErrorData(code=code, message=message))
