"""The server as clients start it: a process, frames on its stdin and stdout, and every way it can
end.
"""

import json
import math
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, StdioServerParameters

from fleet_memory.stores.sqlite import SqliteStore
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

SERVE = ["-m", "fleet_memory"]
TOYS = [str(Path(__file__).parent / "children" / "toy_server.py")]
PROTOCOL = "io.modelcontextprotocol/"
META = {f"{PROTOCOL}protocolVersion": "2026-07-28", f"{PROTOCOL}clientCapabilities": {}}
DISCOVER = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": META}}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


class Server:
    """A server process; its log is in `log` once it has ended."""

    def __init__(self, process: Process) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.process = process
        self.stdin = process.stdin
        self.out = BufferedByteReceiveStream(process.stdout)
        self.err = BufferedByteReceiveStream(process.stderr)

    async def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            await self.stdin.send(
                message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            )

    async def receive(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(await self.out.receive_until(b"\n", 10_000_000))
        return frame

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        await self.send(message)
        return await self.receive()

    async def open(self) -> None:
        assert (await self.ask(INITIALIZE))["result"]["serverInfo"]["name"] == "fleet-memory"
        await self.send(INITIALIZED)

    async def began(self) -> None:
        """Wait until a toy is under way: it prints a line on stderr."""
        while await self.err.receive_until(b"\n", 10_000) != b"began":
            pass

    async def rest(self) -> tuple[list[dict[str, Any]], str]:
        """Return the frames and the log up to the end of the process."""
        log = bytearray()

        async def drain() -> None:
            async for chunk in self.err:
                log.extend(chunk)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain)
            frames = b"".join([chunk async for chunk in self.out])
        await self.process.wait()
        return [json.loads(line) for line in frames.splitlines()], log.decode()


@asynccontextmanager
async def started(command: list[str], tmp_path: Path, **environment: str) -> AsyncIterator[Server]:
    own = {
        "FLEET_MEMORY_STORE": str(tmp_path / "memory.db"),
        "FLEET_MEMORY_EMBEDDER": "lexical",
        **environment,
    }
    with anyio.fail_after(HANG_S):
        async with await anyio.open_process(
            [sys.executable, *command], env=os.environ | own
        ) as process:
            yield Server(process)


ENGINES = ("onnxruntime", "tokenizers", "google")
HTTP = (
    "fleet_memory.server.http",
    "h11",
    "jwt",
    "prometheus_client",
)  # a call imports none of it either


@pytest.mark.parametrize("engine", ["lexical", "minilm"])
@pytest.mark.parametrize("calls", [(), ("memory_health",)])
async def test_no_model_is_imported_before_the_first_text_nor_the_code_of_http(
    calls: tuple[str, ...], engine: str, tmp_path: Path
) -> None:
    async with started(
        ["-X", "importtime", *SERVE], tmp_path, FLEET_MEMORY_EMBEDDER=engine
    ) as server:
        await server.open()
        assert len((await server.ask(LIST))["result"]["tools"]) == 6
        for tool in calls:
            assert not (await server.ask(call(tool, programId="wren")))["result"]["isError"]
        await server.stdin.aclose()
        _, log = await server.rest()
    assert "fleet_memory.server.registration" in log
    watched = (*ENGINES, *HTTP)
    assert {
        name for line in log.splitlines() if (name := line.rpartition(" ")[2]) in watched
    } == set()


def call(tool: str, number: int = 3, **arguments: str) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def test_a_client_may_discover_and_then_initialize(tmp_path: Path) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.send(DISCOVER)
        assert await server.out.receive_exactly(1) == b"{"
        await server.out.receive_until(b"\n", 10_000)
        assert "2026-07-28" in (await server.ask(DISCOVER))["result"]["supportedVersions"]
        assert (await server.ask(INITIALIZE))["result"]["protocolVersion"] == "2025-11-25"
        await server.send(INITIALIZED)
        assert "gsp_bootstrap" in {
            tool["name"] for tool in (await server.ask(LIST))["result"]["tools"]
        }


async def test_a_client_may_discover_and_stay_modern(tmp_path: Path) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.ask(DISCOVER)
        listed = await server.ask({**LIST, "params": {"_meta": META}})
        assert "gsp_bootstrap" in {tool["name"] for tool in listed["result"]["tools"]}
        assert (await server.ask(DISCOVER))["id"] == 0


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_both_eras_store_and_recall(tmp_path: Path, mode: str) -> None:
    environment = {
        "FLEET_MEMORY_STORE": str(tmp_path / "memory.db"),
        "FLEET_MEMORY_EMBEDDER": "lexical",
    }
    parameters = StdioServerParameters(command=sys.executable, args=SERVE, env=environment)
    pattern = {
        "pattern": "Look before you leap",
        "domain": "care",
        "confidence": 0.9,
        "evidence": "It hurt",
    }
    with anyio.fail_after(HANG_S):
        async with Client(parameters, mode=mode) as client:
            stored = await client.call_tool(
                "store_memory", {"programId": "basher", "pattern": pattern}
            )
            assert not stored.is_error
            recalled = await client.call_tool("recall_memory", {"programId": "basher"})
    assert recalled.structured_content is not None
    assert [each["pattern"] for each in recalled.structured_content["patterns"]] == [
        "Look before you leap"
    ]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_signal_ends_it(tmp_path: Path, number: signal.Signals, code: int) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.open()
        await server.ask(call("memory_health", programId="basher"))
        server.process.send_signal(number)
        frames, log = await server.rest()
        assert (frames, log, server.process.returncode) == ([], "", code)


async def test_end_of_input_before_the_first_request_ends_it(tmp_path: Path) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.stdin.aclose()
        assert (await server.rest(), server.process.returncode) == (([], ""), 0)


async def test_a_script_may_close_its_end_before_the_answers(tmp_path: Path) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.send(INITIALIZE, INITIALIZED, LIST, call("memory_health", programId="basher"))
        await server.stdin.aclose()
        frames, log = await server.rest()
        assert (sorted(frame["id"] for frame in frames), log, server.process.returncode) == (
            [1, 2, 3],
            "",
            0,
        )


NO_MESSAGES = [
    b"\n",
    b"{broken\n",
    b"\xff\xfe\x00\n",
    b'"text"\n',
    b"[1, 2]\n",
    b'{"id": 5}{"id": 6}\n',
    b'{"id": true}\n',
    b'{"id": 1.5, "method": "tools/list"}\n',
    b'{"id": {}, "jsonrpc": "2.0", "method": "tools/list", "params": []}\n',
    b"[" * 100_000 + b"\n",
    b'{"jsonrpc": "2.0", "id": "\\ud83d", "method": "tools/list"}\n',
]


async def test_lines_that_are_no_messages_leave_it_alive(tmp_path: Path) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.send(*NO_MESSAGES)
        await server.open()
        await server.send(*NO_MESSAGES)
        assert (await server.ask(LIST))["id"] == 2
        await server.stdin.aclose()
        frames, log = await server.rest()
        assert (frames, server.process.returncode) == ([], 0)
        assert log.count("dropped a line that is no JSON-RPC message") == 2 * len(NO_MESSAGES)


async def test_a_broken_request_gets_an_answer_instead_of_silence(tmp_path: Path) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.open()
        await server.send(
            b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x\\ud83d"}}\n'
        )
        answer = await server.receive()
        assert (answer["id"], answer["error"]["code"]) == (7, -32700)
        await server.send(b'{"jsonrpc": "2.0", "id": 8, "result": 1, "method": 2}\n')
        answer = await server.receive()
        assert (answer["id"], answer["error"]["code"]) == (8, -32600)
        await server.send(
            b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "caf\xc3"}}\n'
        )
        answer = await server.receive()
        assert (answer["id"], answer["result"]["isError"]) == (9, True)
        await server.send(
            {
                "jsonrpc": "2.0",
                "id": 10,
                "error": {"code": -1, "message": "the client's own: no echo"},
            }
        )
        assert (await server.ask(LIST))["id"] == 2


@pytest.mark.parametrize(
    ("tool", "argument", "value", "said"),
    [
        ("claim_work", "input", {"x": [math.nan]}, "input: must hold finite numbers only"),
        ("claim_work", "input", {"x": -math.inf}, "input: must hold finite numbers only"),
        ("claim_work", "hours", math.nan, "hours: Input should be a finite number"),
        ("read_work", "limit", math.nan, "limit: Input should be a valid integer"),
        ("journal_distill", "startSeq", math.nan, "startSeq: Input should be a valid integer"),
    ],
)
async def test_no_number_is_refused_and_writes_nothing(
    tmp_path: Path, tool: str, argument: str, value: object, said: str
) -> None:
    """A client of Python's would send null in its place."""
    async with started(SERVE, tmp_path, FLEET_MEMORY_TOOLSETS="core,work,journal") as server:
        await server.open()
        sent = call(tool, programId="iso", kind="render")
        sent["params"]["arguments"][argument] = value
        answer = await server.ask(sent)
        assert said in answer["result"]["content"][0]["text"]
        read = await server.ask(call("read_work", work="none"))
        assert read["result"]["structuredContent"]["claims"] == []
        await server.stdin.aclose()
        await server.rest()
    memory = SqliteStore(tmp_path / "memory.db")
    assert (await memory.check()).documents == {}
    await memory.close()


async def test_twenty_megabytes_are_refused_and_the_next_call_works(tmp_path: Path) -> None:
    async with started(SERVE, tmp_path) as server:
        await server.open()
        refused = await server.ask(call("memory_health", programId="x" * 20_000_000))
        assert refused["result"]["isError"]
        assert len(json.dumps(refused)) < 1000
        assert not (await server.ask(call("memory_health", 4, programId="basher")))["result"][
            "isError"
        ]


async def test_nothing_but_frames_reaches_stdout(tmp_path: Path) -> None:
    async with started(TOYS, tmp_path) as server:
        await server.open()
        await server.send(call("chatter"))
        await server.stdin.aclose()
        frames, log = await server.rest()
        assert [frame["id"] for frame in frames] == [3]
        assert [line for line in log.splitlines() if line.startswith("stray: ")] == [
            f"stray: {what}" for what in ("import", "tool", "descriptor", "child")
        ]


@pytest.mark.parametrize(("how", "code"), [("SIGTERM", 143), ("EOF", 0)])
async def test_a_call_under_way_is_finished_and_answered(
    tmp_path: Path, how: str, code: int
) -> None:
    async with started(TOYS, tmp_path) as server:
        await server.open()
        await server.send(call("write_slowly", path=str(tmp_path / "file")))
        await server.began()
        if how == "EOF":
            await server.stdin.aclose()
        else:
            server.process.send_signal(signal.Signals[how])
        frames, log = await server.rest()
        assert [frame["result"]["structuredContent"] for frame in frames] == [{"done": True}]
        assert ((tmp_path / "file").read_text(), server.process.returncode, log) == (
            "written",
            code,
            "",
        )


async def test_a_second_signal_ends_a_server_that_hangs(tmp_path: Path) -> None:
    async with started(TOYS, tmp_path) as server:
        await server.open()
        await server.send(call("hang"))
        await server.began()
        server.process.send_signal(signal.SIGTERM)
        with anyio.move_on_after(0.2):
            await server.process.wait()
        assert server.process.returncode is None
        server.process.send_signal(signal.SIGTERM)
        await server.process.wait()
        assert server.process.returncode == 143


async def test_a_crash_leaves_its_traceback_and_a_code(tmp_path: Path) -> None:
    async with started([*TOYS, "crash"], tmp_path) as server:
        await server.open()
        server.process.send_signal(signal.SIGTERM)
        frames, log = await server.rest()
        assert (frames, server.process.returncode) == ([], 1)
        assert "RuntimeError: the store burst" in log


async def test_a_client_that_no_longer_reads_ends_it(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    environment = os.environ | {"FLEET_MEMORY_STORE": str(tmp_path / "memory.db")}
    with anyio.fail_after(HANG_S):
        async with await anyio.open_process(
            [sys.executable, *SERVE], stdout=theirs, env=environment
        ) as process:
            os.close(theirs)
            os.close(ours)
            assert process.stdin
            await process.stdin.send(json.dumps(INITIALIZE).encode() + b"\n")
            await process.wait()
    assert process.returncode == 0


async def test_a_store_that_cannot_open_is_reported_at_the_call_and_not_remembered(
    tmp_path: Path,
) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    async with started(
        SERVE, tmp_path, FLEET_MEMORY_STORE=str(tmp_path / "blocked" / "memory.db")
    ) as server:
        await server.open()
        refused = (await server.ask(call("memory_health", programId="basher")))["result"]
        assert refused["isError"]
        assert refused["content"][0]["text"].startswith("store_unavailable: ")
        assert str(tmp_path) not in refused["content"][0]["text"]
        (tmp_path / "blocked").unlink()
        assert not (await server.ask(call("memory_health", programId="basher")))["result"][
            "isError"
        ]


async def test_a_bad_setting_is_one_line_and_exit_2(tmp_path: Path) -> None:
    async with started([*SERVE, "serve", "--fleet", "a b"], tmp_path) as server:
        frames, log = await server.rest()
        assert (frames, server.process.returncode) == ([], 2)
        assert log == (
            "fleet-memory: --fleet: 'a b' is no name. "
            "Allowed: 1-100 letters, digits and . _ : / - with no leading dot and no '..'.\n"
        )
