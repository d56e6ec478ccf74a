"""What a call costs over stdio, against a tool that does nothing, in one run.

A fleet of 1,000 memories (10 programs with 100 each) is stored first. Then the calls take turns, so that whatever else
the machine does hits all of them. Run: python benchmarks/calls.py [ROUNDS]
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
from mcp import Client, StdioServerParameters
from startup import BARE

PROGRAMS: Final = 10
PATTERNS: Final = 100
TOPICS: Final = [
    "claim",
    "task",
    "queue",
    "branch",
    "deploy",
    "cache",
    "index",
    "token",
    "retry",
    "lease",
    "shard",
    "prompt",
    "context",
    "rebase",
    "review",
]
BUDGETS: Final = {
    "recall": 3,
    "recall with a query": 5,
    "reinforce": 3,
    "store": 8,
}  # times the tool that does nothing; docs/architecture.md, "Budgets"


async def main(rounds: int) -> None:
    """Print the medians and their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"FLEET_MEMORY_STORE": str(Path(folder) / "memory.db")}
        ours = StdioServerParameters(command=sys.executable, args=["-m", "fleet_memory", "serve"], env=environment)
        bare = StdioServerParameters(command=sys.executable, args=["-c", BARE])
        async with Client(ours) as fleet, Client(bare) as nothing:
            for number in range(PROGRAMS * PATTERNS):
                await fleet.call_tool("store_memory", stored(f"program-{number % PROGRAMS}", number))
            lesson = {"id": "reinforced", "pattern": "Read first", "domain": "x", "confidence": 0.8, "evidence": "seen"}
            await fleet.call_tool("store_memory", {"programId": "program-3", "pattern": lesson})
            tell(await measured(fleet, nothing, rounds), rounds)


def stored(program: str, number: int) -> dict[str, object]:
    """Return the arguments of one store of a lesson of its own."""
    one, two, three = (TOPICS[number // step % len(TOPICS)] for step in (1, 15, 225))
    text = f"Look at the {one} before the {two} of the {three} in case {number}"
    lesson = {"pattern": text, "domain": one, "confidence": 0.8, "evidence": "seen twice last week"}
    return {"programId": program, "pattern": lesson}


async def measured(fleet: Client, nothing: Client, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of every call, by what was called."""
    count = iter(range(10_000_000, 20_000_000))
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "nothing": lambda: nothing.call_tool("echo", {"text": "x"}),
        "recall": lambda: fleet.call_tool("recall_memory", {"programId": "program-3", "limit": 5}),
        "recall with a query": lambda: fleet.call_tool(
            "recall_memory", {"programId": "program-3", "query": "what to do before a claim", "limit": 5}
        ),
        "reinforce": lambda: fleet.call_tool(
            "reinforce_memory", {"programId": "program-3", "patternId": "reinforced", "evidence": f"seen {next(count)}"}
        ),
        "store": lambda: fleet.call_tool("store_memory", stored("program-4", next(count))),
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            await call()
            taken[name].append(time.perf_counter() - began)
    return taken


def tell(taken: dict[str, list[float]], rounds: int) -> None:
    """Print a line per call."""
    nothing = statistics.median(taken["nothing"])
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        budget = f"budget {BUDGETS[name]}" if name in BUDGETS else f"median of {rounds}"
        print(f"{name:20} {median * 1000:6.2f} ms  {median / nothing:5.2f} x  {budget}")


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 200)
