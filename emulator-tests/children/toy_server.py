"""A server whose tools misbehave; test_stdio.py runs it as a process of its own."""

import os
import subprocess
import sys

import anyio

from fleet_memory.cli import main
from fleet_memory.fleet import Tool, Toolset
from fleet_memory.schemas.value import Value
from fleet_memory.server import app, std_streams
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.std_streams import Wire, claim_streams


class Done(Value):
    done: bool = True


async def chatter() -> Done:
    """Print, and let a child print."""
    print("stray: tool", flush=True)  # noqa: T201
    os.write(1, b"stray: descriptor\n")
    subprocess.run(["echo", "stray: child"], check=True)  # noqa: ASYNC221, S607
    assert sys.stdin.read() == ""
    return Done()


async def write_slowly(path: str) -> Done:
    """Write a file after a while, in any case."""
    print("began", flush=True)  # noqa: T201
    with anyio.CancelScope(shield=True):
        await anyio.sleep(0.3)
        await anyio.Path(path).write_text("written")
    return Done()


async def hang() -> Done:
    """Never end, not even when cancelled."""
    print("began", flush=True)  # noqa: T201
    with anyio.CancelScope(shield=True):
        await anyio.sleep_forever()
    return Done()


async def crash_on_exit(_: LazyFleet) -> None:
    raise RuntimeError("the store burst")


def claimed_before_an_import_that_prints() -> Wire:
    wire = claim_streams()
    print("stray: import")  # noqa: T201
    return wire


if __name__ == "__main__":
    std_streams.claim_streams = claimed_before_an_import_that_prints
    toys = [Tool(each, "Toy", "toy", "writes", "shared") for each in (chatter, write_slowly, hang)]
    app.create_server.__defaults__ = ([Toolset("core", toys)],)
    if "crash" in sys.argv:
        LazyFleet.close = crash_on_exit  # type: ignore[assignment,method-assign]  # a fault on purpose
    sys.exit(main(["serve"]))
