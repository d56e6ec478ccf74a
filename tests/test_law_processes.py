"""Row 21 of the histories with a real server: what it showed counts, though it is killed after its answer."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from anyio import to_thread

from tests import forked
from tests.law_fleet import FleetWorld
from tests.law_world import Policy

pytestmark = pytest.mark.anyio

SHOWN = "Rotate the proxy's log by hand before the nightly backup"
OWN = "The nightly backup needs a log of the proxy that was rotated by hand"


def last_answer(world: FleetWorld, pid: Path, tool: str, **arguments: object) -> str:
    """Return the answer of a server's only call; the server is killed once it is there."""
    environment = {
        "FLEET_MEMORY_STORE": str(world.path),
        "FLEET_MEMORY_EMBEDDER": "lexical",
        "FLEET_MEMORY_TOOLSETS": "all",
        "FLEET_MEMORY_NOW": world.now.isoformat(),
        "PID_FILE": str(pid),
    }
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 ours
        [*forked.words(), "serve"], stdin=pipe, stdout=pipe, env=os.environ | environment, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        answer = next(line for line in server.stdout if json.loads(line).get("id") == 2)
        os.kill(int(pid.read_text(encoding="utf-8")), signal.SIGKILL)
    return answer


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("gsp_bootstrap", {"agentId": "b"}),
        ("gsp_bootstrap", {"agentId": "b", "task": SHOWN}),
        ("recall_memory", {"programId": "b", "query": SHOWN}),
    ],
    ids=["in a pair", "in a boot with a task", "in a recall"],
)
async def test_a_reader_whose_server_was_killed_after_the_answer_discovers_nothing(
    tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    async with FleetWorld(near=[{SHOWN, OWN}]) as world:
        await world.set_policy(Policy(sharing="lessons"))
        await world.store("a", SHOWN)
        if tool == "gsp_bootstrap" and "task" not in arguments:
            await world.store("b", OWN)
        await world.run()
        answer = await to_thread.run_sync(
            lambda: last_answer(world, tmp_path / "pid", tool, **arguments)
        )
        assert SHOWN in answer
        await world.later(minutes=20)
        await world.store("b", SHOWN, evidence="b saw the backup of the proxy end at midnight")
        await world.run()
        [found] = await world.entries()
        assert found.discovered == {"a"}
