"""Count the modules of the package that one store and one verdict run through.

`python -m scripts.measure_calls` prints both beside their ceilings in pyproject.toml,
`[tool.fleet-memory.size]`, and exits with 1 above one. Imports are not counted: a module counts
when one of its functions runs. The calls go through the server as a client makes them, on a new
SQLite file with the default embedder.
"""

import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import anyio
from mcp import Client

from fleet_memory.server.app import create_server
from fleet_memory.settings import load
from scripts.measure_size import PACKAGE, ceilings

LESSONS = {
    "basher": "Quote each variable of a shell script",
    "sark": "Put quotes around the variables of a shell script",
}


@contextmanager
def counted(modules: set[str]) -> Iterator[None]:
    """Add each module of the package whose functions run inside the block, in any thread."""
    prefix = f"{PACKAGE}/"

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(prefix):
            modules.add(code.co_filename.removeprefix(prefix))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def call(client: Client, tool: str, **arguments: object) -> dict[str, object]:
    """Return the answer of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError(str(result.content))
    return dict(result.structured_content)


def pattern(text: str) -> dict[str, object]:
    """Return the arguments of a lesson."""
    return {"pattern": text, "domain": "shell", "confidence": 0.8, "evidence": f"Seen: {text}."}


async def modules_of_calls(store: Path) -> dict[str, set[str]]:
    """Return the modules that a new lesson, and a verdict on a waiting pair, run through."""
    found: dict[str, set[str]] = {"modules-of-a-store": set(), "modules-of-a-verdict": set()}
    settings = load({"store": str(store), "maintenance": "off"}, {})
    with counted(started := set[str]()):  # threads that the server keeps count from their start
        async with Client(create_server(settings)) as client:
            for program, text in LESSONS.items():
                await call(client, "store_memory", programId=program, pattern=pattern(text))
            await call(client, "pattern_consolidate", programId="basher")
            asked = await call(client, "pattern_consolidate", programId="basher")
            pairs = asked["toJudge"]
            if not isinstance(pairs, list):
                raise TypeError(f"no pair waits: {asked}")
            verdict = {"pairId": pairs[0]["pairId"], "verdict": "same"}
            started.clear()
            new = pattern("Name the branch after its ticket")
            await call(client, "store_memory", programId="basher", pattern=new)
            found["modules-of-a-store"] |= started
            started.clear()
            await call(client, "pattern_consolidate", programId="basher", verdicts=[verdict])
            found["modules-of-a-verdict"] |= started
    return found


def main() -> None:
    """Print how many modules each call runs through; exit with 1 above a ceiling."""
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(modules_of_calls, Path(folder) / "memory.db")
    limits = ceilings()
    for name, modules in found.items():
        print(f"{name:24}{len(modules):10,} of {limits[name]:10,}")
        if "--list" in sys.argv:
            print("\n".join(f"    {module}" for module in sorted(modules)))
    sys.exit(int(any(len(modules) > limits[name] for name, modules in found.items())))


if __name__ == "__main__":
    main()
