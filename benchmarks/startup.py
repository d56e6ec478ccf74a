"""From starting the process to the answer of tools/list, against a bare `mcp` server with one tool.

Both are started in turn, so that other work of the machine hits both. Run: python
benchmarks/startup.py [RUNS]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, cast

BUDGET = 1.35  # times the bare server's median. Source: chosen
BARE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")


@server.tool()
async def echo(text: str) -> str:
    "Return the text."
    return text


server.run()
"""
COMMANDS = {"bare mcp server": ["-c", BARE], "fleet-memory": ["-m", "fleet_memory", "serve"]}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "startup", "version": "1"},
}
FRAMES = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]


def seconds_to_list(command: list[str], folder: Path) -> float:
    """Return the time from starting the process to its list of tools."""
    environment = os.environ | {
        "FLEET_MEMORY_STORE": str(folder / "memory.db"),
        # an installed package has its bytecode, a source tree may not
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    began = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, *command], stdin=pipe, stdout=pipe, env=environment
    ) as process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        stdin.write("".join(json.dumps(frame) + "\n" for frame in FRAMES).encode())
        stdin.flush()
        while json.loads(stdout.readline()).get("id") != 2:
            pass
        taken = time.perf_counter() - began
        stdin.close()
    return taken


def main(runs: int) -> None:
    """Print both medians and their ratio."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs + 1):
            for name, command in COMMANDS.items():
                seconds = seconds_to_list(command, Path(folder))
                if run:  # the first fills the file cache and the bytecode
                    taken[name].append(seconds)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, median in medians.items():
        print(
            f"{name:16} {median * 1000:5.0f} ms median of {runs}, "
            f"{min(taken[name]) * 1000:.0f} ms at best"
        )
    bare, ours = medians.values()
    print(f"{'ratio':16} {ours / bare:5.2f}    budget {BUDGET}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
