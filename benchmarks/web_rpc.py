"""A raw client of an MCP server over HTTP: no client library's time is in a measured call. Linux
only.
"""

import ctypes
import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from rpc import PROTOCOL, Arguments, NoAnswerError, Reply

ANNOUNCEMENT: Final = "fleet-memory serves "
WAIT_S: Final = 60.0


class WebClient:
    """One connection, kept open, with the token of one program; calls are made one at a time."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            str(parts.hostname), parts.port, timeout=WAIT_S
        )
        self._path = parts.path
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL,
            "Authorization": f"Bearer {token}",
        }

    def call(self, tool: str, arguments: Arguments) -> Reply:
        """Call a tool. Raises NoAnswerError; an error of the tool or of the protocol is a refused
        reply.
        """
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        body = json.dumps(message).encode()
        began = time.perf_counter()
        self._connection.request("POST", self._path, body, self._headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        seconds = time.perf_counter() - began
        events = [
            line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")
        ]
        if response.status != 200 or not events:
            raise NoAnswerError(f"HTTP {response.status}: {text[:200]}")
        answer = json.loads(events[-1])
        result = answer.get("result", {})
        blocks = result.get("content", [{"text": json.dumps(answer.get("error"))}])
        return Reply(seconds, blocks[0]["text"], bool(result.get("isError", "error" in answer)))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class WebServer(NamedTuple):
    """A server process and the URL of its endpoint."""

    url: str
    process: subprocess.Popen[str]

    def cpu_s(self) -> float:
        """Return the processor seconds, user and system, of the server's threads so far
        (clock_getcpuclockid(3)).
        """
        clock = ctypes.c_int()
        if ctypes.CDLL(None).clock_getcpuclockid(self.process.pid, ctypes.byref(clock)):
            raise NoAnswerError("the server ended")
        return time.clock_gettime(clock.value)

    def memory_mb(self) -> float:
        """Return the resident megabytes of the server now."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        figures = dict(line.split(":", 1) for line in text.splitlines())
        return int(figures["VmRSS"].split()[0]) / 1024


@contextmanager
def web_server(
    command: Sequence[str], variables: Mapping[str, str], log: Path
) -> Iterator[WebServer]:
    """Start a server that announces its URL on stderr, which goes into the file `log`; end it with
    the block.
    """
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command, env=os.environ | dict(variables), stderr=stderr, text=True
        )
        try:
            yield WebServer(_announced(process, log), process)
        finally:
            process.terminate()
            process.wait(WAIT_S)


def _announced(process: subprocess.Popen[str], log: Path) -> str:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text(encoding="utf-8").splitlines():
            if line.startswith(ANNOUNCEMENT):
                return line.removeprefix(ANNOUNCEMENT)
        time.sleep(0.05)
    raise NoAnswerError(f"the server did not start: {log.read_text(encoding='utf-8')[-300:]}")
