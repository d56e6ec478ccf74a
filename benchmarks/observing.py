"""The cost of observing: the same calls in turn on a server that observes and on one that does not.

`python benchmarks/observing.py [CALLS]` prints the ratio of processor time, with JSON log, metrics
and limits.
"""

import io
import logging
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from mcp import Client
from mcp.server.context import ServerMiddleware

from fleet_memory.clock import clock
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet, every_tool
from fleet_memory.server.limits import CallLimits
from fleet_memory.server.observing.log import REQUESTS, JsonLines
from fleet_memory.server.observing.metrics import Metrics
from fleet_memory.server.observing.requests import RequestObserver, log_request
from fleet_memory.settings import MAX_RATE, Rate, load

BATCH = 20  # calls of one server, then of the other
LESSON = {
    "pattern": "Pin versions of tools",
    "domain": "build",
    "confidence": 0.9,
    "evidence": "It broke twice",
}


async def measure(calls: int, folder: Path) -> float:
    """Return the median of the ratios of processor time, over batches."""
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(JsonLines())
    logging.basicConfig(level="WARNING", handlers=[handler])
    logging.getLogger(REQUESTS).setLevel("INFO")
    async with AsyncExitStack() as stack:
        clients = []
        for name in ("plain", "observed"):
            settings = load({"store": str(folder / f"{name}.db"), "embedder": "lexical"}, {})
            lazy = LazyFleet(settings, clock(settings.now))
            lazy.identified = lambda: Caller("basher", "agent", "a1")
            watchers = [log_request, Metrics(lazy.use, every_tool(), settings.fleet).watch]
            both: list[ServerMiddleware[LazyFleet]] = [
                RequestObserver(watchers, every_tool()),
                CallLimits(Rate(MAX_RATE, MAX_RATE)),
            ]
            server = create_server(
                settings, lazy=lazy, middleware=both if name == "observed" else []
            )
            clients.append(await stack.enter_async_context(Client(server)))
        ratios = []
        plain, observed = clients
        for number in range(calls // BATCH):  # each goes first every other time
            if number % 2:
                before, after = await _batch(plain), await _batch(observed)
            else:
                after, before = await _batch(observed), await _batch(plain)
            ratios.append(after / before)
    return statistics.median(ratios[1:])


async def _batch(client: Client) -> float:
    begun = time.process_time()
    for _ in range(BATCH // 2):
        await client.call_tool("store_memory", {"programId": "basher", "pattern": LESSON})
        await client.call_tool(
            "recall_memory", {"programId": "basher", "query": "which versions of tools?"}
        )
    return time.process_time() - begun


def main() -> None:
    """Print the ratio."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        ratio = anyio.run(measure, calls, Path(folder))
    print(f"observed / plain, processor time: {ratio:.2f} over {calls} calls of each")


if __name__ == "__main__":
    main()
