"""`fleet-memory serve --http` as a process of its own, for tests; it is ended with the block."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import forked
from tests.bounds import HANG_S

ANNOUNCEMENT = "fleet-memory serves "


@dataclass(frozen=True)
class HttpServer:
    """A server that listens. `log` has the lines of its stderr so far, and all once it ended: a
    server answers before it logs the call.
    """

    url: str  # of its endpoint, e.g. "http://127.0.0.1:40123/mcp"
    process: subprocess.Popen[str]
    reader: threading.Thread  # it fills `log`
    log: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        """The URL of the other routes, e.g. f"{base}/healthz"."""
        return self.url.removesuffix("/mcp")

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def end(self, signal: int) -> int:
        """Send a signal, wait for the end and its last line, and return the exit code."""
        self.process.send_signal(signal)
        code = self.process.wait(HANG_S)
        self.reader.join(HANG_S)
        return code

    def line(self, text: str) -> str:
        """Wait for the first line of the log that has a text."""
        ends = time.monotonic() + HANG_S
        while not (found := [line for line in self.log if text in line]):
            assert time.monotonic() < ends, self.log
            time.sleep(0.01)
        return found[0]


@contextmanager
def http_server(
    store: str | Path,
    *flags: str,
    env: Mapping[str, str] | None = None,
    bind: str = "127.0.0.1:0",
) -> Iterator[HttpServer]:
    """Serve a store, with the lexical engine unless a flag names another; yield once the server
    listens.
    """
    words = [
        *forked.words(),
        "serve",
        "--http",
        bind,
        "--store",
        str(store),
    ]
    metrics = (
        [] if "--metrics" in flags else ["--metrics", "off"]
    )  # the default port is one for the whole machine
    engine = [] if "--embedder" in flags else ["--embedder", "lexical"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")
    }
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), **(env or {})}
    process = subprocess.Popen(  # noqa: S603 words of this test
        [*words, *engine, *metrics, *flags],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    log: list[str] = []
    announced = threading.Event()
    reader = threading.Thread(target=_read, args=(process, log, announced))
    reader.start()
    try:
        assert announced.wait(HANG_S), "the server neither started nor ended"
        urls = [line.removeprefix(ANNOUNCEMENT) for line in log if line.startswith(ANNOUNCEMENT)]
        assert urls, "\n".join(log)
        yield HttpServer(urls[0].replace("//0.0.0.0:", "//127.0.0.1:"), process, reader, log)
    finally:
        process.kill()
        process.wait(HANG_S)
        reader.join(HANG_S)


def _read(process: subprocess.Popen[str], log: list[str], announced: threading.Event) -> None:
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            log.append(line.rstrip("\n"))
            if line.startswith(ANNOUNCEMENT):
                announced.set()
    announced.set()  # it ended instead
