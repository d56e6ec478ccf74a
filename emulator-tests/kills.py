"""Killing servers: the number of kills, the server to kill, and the kill itself."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

import anyio
from agents import served
from mcp import StdioServerParameters

from tests import forked

KILLS = int(os.environ.get("KILLS", "5"))  # per test and engine; the nightly workflow asks for 50
MAX_KILLS = 20 * KILLS  # for a test that goes on until it has seen both outcomes of a kill


def serving(settings: Mapping[str, str], pid: Path) -> StdioServerParameters:
    """Return the command of a server that writes its process id into a file."""
    return served([*forked.words(), "serve"], {**settings, "PID_FILE": str(pid)})


async def kill_after(pid: Path, seconds: float) -> None:
    """Kill the server that wrote its process id into the file `pid`."""
    process = int(await anyio.Path(pid).read_text())
    await anyio.sleep(seconds)
    os.kill(process, signal.SIGKILL)
