"""Killing servers: the number of kills, the server to kill, and the kill itself."""

import os
import signal
from pathlib import Path

import anyio

KILLS = int(os.environ.get("KILLS", "5"))  # per test and engine; the nightly workflow asks for 50
MAX_KILLS = 20 * KILLS  # for a test that goes on until it has seen both outcomes of a kill
SERVE = (
    Path(__file__).parent / "children" / "serve_and_tell.py"
)  # a server that writes its process id into a file


async def kill_after(pid: Path, seconds: float) -> None:
    """Kill the server that wrote its process id into the file `pid`."""
    process = int(await anyio.Path(pid).read_text())
    await anyio.sleep(seconds)
    os.kill(process, signal.SIGKILL)
