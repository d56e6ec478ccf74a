"""The law with real processes: what a killed server showed counts; verdicts race each other and a run."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio import to_thread

from fleet_memory.errors import EXIT_CONFLICT
from tests import forked
from tests.law_fleet import FleetWorld
from tests.law_world import Policy

pytestmark = pytest.mark.anyio

SHOWN = "Rotate the proxy's log by hand before the nightly backup"
OWN = "The nightly backup needs a log of the proxy that was rotated by hand"


@contextmanager
def process(world: FleetWorld, pid: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command on the world's file; `pid` will have the id of its process."""
    environment = {
        "FLEET_MEMORY_STORE": str(world.path),
        "FLEET_MEMORY_EMBEDDER": "lexical",
        "FLEET_MEMORY_TOOLSETS": "all",
        "FLEET_MEMORY_NOW": world.now.isoformat(),
        "PID_FILE": str(pid),
    }
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 ours
        [*forked.words(), *words], stdin=pipe, stdout=pipe, env=os.environ | environment, text=True
    ) as started:
        yield started


def send(server: subprocess.Popen[str], **message: object) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def answer_of(server: subprocess.Popen[str], request: int) -> str:
    assert server.stdout is not None
    return next(line for line in server.stdout if json.loads(line).get("id") == request)


def greet(server: subprocess.Popen[str]) -> None:
    """Open a server's session and wait until it has answered."""
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    send(server, id=1, method="initialize", params=opening)
    answer_of(server, 1)
    send(server, method="notifications/initialized")


def call(server: subprocess.Popen[str], tool: str, **arguments: object) -> None:
    """Send a server its only call."""
    send(server, id=2, method="tools/call", params={"name": tool, "arguments": arguments})


def last_answer(world: FleetWorld, pid: Path, tool: str, **arguments: object) -> str:
    """Return the answer of a server's only call; the server is killed once it is there."""
    with process(world, pid, "serve") as server:
        greet(server)
        call(server, tool, **arguments)
        answer = answer_of(server, 2)
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


def same(program: str, pair: str) -> dict[str, object]:
    return {"programId": program, "verdicts": [{"pairId": pair, "verdict": "same"}]}


async def asked_pair(world: FleetWorld) -> str:
    """Return the pair of two lessons that a and b are asked about."""
    await world.store("a", SHOWN)
    await world.store("b", OWN, evidence="b saw the backup of the proxy end at midnight")
    await world.run()
    await world.boot("a")
    await world.boot("b")
    [pair] = await world._all_pairs()
    return pair.pair_id


async def test_verdicts_of_two_servers_at_once_both_count(tmp_path: Path) -> None:
    async with FleetWorld(near=[{SHOWN, OWN}]) as world:
        pair = await asked_pair(world)

        def race() -> list[str]:
            with (
                process(world, tmp_path / "one", "serve") as one,
                process(world, tmp_path / "other", "serve") as other,
            ):
                greet(one)
                greet(other)
                call(one, "pattern_consolidate", **same("a", pair))
                call(other, "pattern_consolidate", **same("b", pair))
                answers = [answer_of(one, 2), answer_of(other, 2)]
                one.communicate()
                other.communicate()
            return answers

        answers = await to_thread.run_sync(race)
        assert all('isError":true' not in answer for answer in answers)
        [found] = await world.entries()
        assert (found.state, found.discovered) == ("fresh", frozenset({"a", "b"}))


async def test_a_verdict_beside_a_run_counts(tmp_path: Path) -> None:
    async with FleetWorld(near=[{SHOWN, OWN}]) as world:
        pair = await asked_pair(world)
        await world.verdict("a", SHOWN, OWN, "same")
        await world.store("c", SHOWN, evidence="c lost the log of the proxy on a Monday")
        await world.later(minutes=1)

        def race() -> int:
            with process(world, tmp_path / "server", "serve") as server:
                greet(server)
                with process(world, tmp_path / "run", "maintain") as run:
                    call(server, "pattern_consolidate", **same("b", pair))
                    answer_of(server, 2)
                    run.communicate()
                server.communicate()
            return run.returncode

        # a run that finds the server publishing its verdict leaves the work to the next
        assert await to_thread.run_sync(race) in (0, EXIT_CONFLICT)
        await world.run()
        [found] = await world.entries()
        assert (found.state, found.discovered) == ("fresh", frozenset({"a", "b", "c"}))
