"""A raw JSON-RPC client of an MCP server over stdio: no client library's time is in a measured
call. Linux only.
"""

import ctypes
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple, Self, TypeAlias, cast

Arguments: TypeAlias = Mapping[str, object]
Message: TypeAlias = dict[str, object]

PROTOCOL: Final = "2025-06-18"  # the oldest revision that every measured server speaks
HELLO: Final = {
    "protocolVersion": PROTOCOL,
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
CHUNK: Final = 1 << 20
END_S: Final = 10.0  # a server that outlives the end of its input by this is killed


class NoAnswerError(Exception):
    """The server ended, or did not answer in time; the message has the last line of its stderr."""


class Launch(NamedTuple):
    """How to start a server: its command, the variables to add to ours, and its working folder."""

    command: Sequence[str]
    variables: Mapping[str, str]
    folder: Path


class Reply(NamedTuple):
    """The answer of one tool: its text blocks joined, and the seconds from the first byte sent to
    the last received.
    """

    seconds: float
    text: str
    refused: bool


class RawServer:
    """One server process, started and greeted; calls are made one at a time and wait at most
    `wait_s` seconds.
    """

    def __init__(self, launch: Launch, *, wait_s: float = 60.0) -> None:
        launch.folder.mkdir(parents=True, exist_ok=True)
        self._wait_s = wait_s
        self._log = (launch.folder / "stderr.log").open("ab")
        pipe = subprocess.PIPE
        environment = os.environ | dict(launch.variables)
        self._process = subprocess.Popen(
            launch.command,
            stdin=pipe,
            stdout=pipe,
            stderr=self._log,
            env=environment,
            cwd=launch.folder,
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)
        self._buffer = b""
        self._received = 0
        self._last_id = 0
        try:
            self._ask("initialize", HELLO, wait_s)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def call(self, tool: str, arguments: Arguments, *, wait_s: float | None = None) -> Reply:
        """Call a tool. Raises NoAnswerError; an error of the tool or of the protocol is a refused
        reply.
        """
        taken, message = self._ask(
            "tools/call", {"name": tool, "arguments": arguments}, wait_s or self._wait_s
        )
        error = message.get("error")
        if error is not None:
            return Reply(taken, json.dumps(error), refused=True)
        result = cast("Mapping[str, object]", message["result"])
        blocks = cast("Sequence[Mapping[str, object]]", result.get("content", ()))
        return Reply(
            taken,
            "\n".join(str(block.get("text", "")) for block in blocks),
            bool(result.get("isError")),
        )

    def cpu_s(self) -> float:
        """Return the processor seconds, user and system, of the server's threads so far
        (clock_getcpuclockid(3)).
        """
        clock = ctypes.c_int()
        if ctypes.CDLL(None).clock_getcpuclockid(self._process.pid, ctypes.byref(clock)):
            raise NoAnswerError(self._ending())
        return time.clock_gettime(clock.value)

    def written(self) -> int:
        """Return the bytes that the server has written so far, but for its answers (proc(5),
        wchar).

        A memory's files, all of them: pages, write-ahead logs and checkpoints, and logs.
        """
        figures = dict(line.split(": ") for line in self._proc("io").splitlines())
        return int(figures["wchar"]) - self._received

    def memory_mb(self) -> float:
        """Return the resident megabytes of the server now."""
        figures = dict(line.split(":", 1) for line in self._proc("status").splitlines())
        return int(figures["VmRSS"].split()[0]) / 1024

    def close(self) -> None:
        """End the server by ending its input, or kill it."""
        with suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._end()

    def kill(self) -> None:
        """End the server at once."""
        self._process.kill()
        self._end()

    def _end(self) -> None:
        self._process.wait()
        with suppress(
            BrokenPipeError
        ):  # bytes that the server did not read are still in the buffer
            self._stdin.close()
        self._stdout.close()
        self._log.close()

    def _ask(self, method: str, parameters: Arguments, wait_s: float) -> tuple[float, Message]:
        self._last_id += 1
        began = time.perf_counter()
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": parameters})
        while True:
            line = self._line(wait_s)
            taken = time.perf_counter() - began
            message = _message(line)
            if (
                "method" in message and "id" in message
            ):  # the server asks its client, which can do nothing
                refusal = {"code": -32601, "message": "not supported"}
                self._send({"jsonrpc": "2.0", "id": message["id"], "error": refusal})
            elif message.get("id") == self._last_id:
                return taken, message

    def _send(self, message: Message) -> None:
        try:
            self._stdin.write(json.dumps(message).encode() + b"\n")
            self._stdin.flush()
        except BrokenPipeError as error:
            raise NoAnswerError(self._ending()) from error

    def _line(self, wait_s: float) -> bytes:
        deadline = time.monotonic() + wait_s
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._stdout], [], [], left)[0]:
                raise NoAnswerError(f"no answer within {wait_s:g} s")
            chunk = os.read(self._stdout.fileno(), CHUNK)
            if not chunk:
                raise NoAnswerError(self._ending())
            self._received += len(chunk)
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _proc(self, name: str) -> str:
        try:
            return Path(f"/proc/{self._process.pid}/{name}").read_text(encoding="utf-8")
        except OSError as error:
            raise NoAnswerError(self._ending()) from error

    def _ending(self) -> str:
        text = Path(self._log.name).read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()] or [
            "no word on stderr"
        ]
        errors = [
            line for line in lines if "Error" in line
        ]  # some explain themselves at length below it
        return f"the server ended: {(errors or lines)[-1][:200]}"


def _message(line: bytes) -> Message:
    """Return the message of a line, an empty one for a line that is no JSON object; some servers
    print such.
    """
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return cast("Message", message) if isinstance(message, dict) else {}
