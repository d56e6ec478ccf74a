"""Child processes that a test talks with, a line at a time."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

CHILDREN = Path(__file__).parent / "children"
MAX_LINE = 10_000  # bytes


class Child:
    """A process of `children/` that is open."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self._process = process
        self._lines = BufferedByteReceiveStream(process.stdout)

    async def line(self) -> str:
        """Return the next line that it prints. Raises EndOfStream or IncompleteRead when it ends
        instead.
        """
        return (await self._lines.receive_until(b"\n", MAX_LINE)).decode()

    async def send(self, line: str = "") -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(f"{line}\n".encode())

    async def ask(self) -> str:
        """Send an empty line, and return the answer."""
        await self.send()
        return await self.line()


@asynccontextmanager
async def child(script: str, *arguments: str) -> AsyncIterator[Child]:
    """Start a child, and wait until it reports that it is open; it is ended with the block."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(CHILDREN / script), *arguments]
    async with await anyio.open_process(command, stderr=None, env=environment) as process:
        talking = Child(process)
        try:
            assert await talking.line() == "open"
            yield talking
        finally:
            if process.returncode is None:
                process.kill()
