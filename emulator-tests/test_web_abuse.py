"""Clients that mean no good do not stop the others, and cost the server no memory that it does not
get back.
"""

import itertools
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

import anyio
import pytest
from agents import Agent
from web_abuse import (
    garbage,
    head,
    send_once,
    send_too_much,
)
from web_agents import UNLIMITED, tokens_of, web_agent

from tests.http_server import HttpServer, http_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc"),
]

DRIPPING = 100  # of each kind
GARBAGE = 1000
IDLE = 500
POURING = 10  # of each kind, at once: 400 MB if they were kept
TWENTY_MEGABYTES = 20_000_000
AT_ONCE = 20
# of the resident memory, at its highest; measured: 11 by the bodies of 20 MB, 3 by all others
MAX_GROWTH_MB = 60
MIN_GOOD_CALLS = 10  # while the others do their worst

Attack: TypeAlias = Callable[[], Awaitable[bytes]]  # returns the server's last words


class Attacked(NamedTuple):
    """A server, the token of a program, and an agent of that program."""

    server: HttpServer
    token: str
    agent: Agent

    def peak_mb(self) -> float:
        """Return the highest resident memory so far, in megabytes."""
        lines = Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines()
        (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return int(peak) / 1024


@pytest.fixture
async def attacked(tmp_path: Path) -> AsyncIterator[Attacked]:
    """A server whose agent has stored and recalled, so that everything is imported; it ends without
    a traceback.
    """
    address = str(tmp_path / "memory.db")
    [token] = await tokens_of(address, ["basher"])
    with http_server(address, env=UNLIMITED) as server:
        async with web_agent(server.url, token) as agent:
            one = Attacked(server, token, agent)
            pattern = {
                "pattern": "Look before you leap",
                "domain": "care",
                "confidence": 0.9,
                "evidence": "It hurt",
            }
            await agent.call("store_memory", programId="basher", pattern=pattern)
            await recall(agent)
            yield one
            await recall(agent)
        assert server.end(signal.SIGTERM) == 0
        assert [line for line in server.log if "Traceback" in line] == []


async def recall(agent: Agent) -> None:
    answer = await agent.call("recall_memory", programId="basher", query="leap")
    assert [each["pattern"] for each in answer["patterns"]] == ["Look before you leap"]


@asynccontextmanager
async def good_calls(agent: Agent) -> AsyncIterator[None]:
    """Recall again and again during the block, and until several recalls are answered."""
    attacking, enough = True, anyio.Event()

    async def go_on() -> None:
        for calls in itertools.count(1):
            await recall(agent)
            if calls >= MIN_GOOD_CALLS and not attacking:
                enough.set()
                return

    async with anyio.create_task_group() as calling:
        calling.start_soon(go_on)
        yield
        attacking = False
        await enough.wait()


async def all_at_once(attacks: Sequence[Attack], limit: int) -> list[bytes]:
    """Run attacks, `limit` of them at once; return the last words that the server had for each."""
    words: list[bytes] = []
    room = anyio.Semaphore(limit)

    async def one(attack: Attack) -> None:
        async with room:
            words.append(await attack())

    async with anyio.create_task_group() as attacking:
        for attack in attacks:
            attacking.start_soon(one, attack)
    return words


def statuses(words: list[bytes]) -> set[bytes]:
    """Return the status codes of answers, b"" for a connection that was closed without one."""
    return {each.split(b" ", 2)[1] if each else b"" for each in words}


async def test_a_thousand_garbage_requests_are_refused_and_the_others_go_on(
    attacked: Attacked,
) -> None:
    before = attacked.peak_mb()
    port = attacked.server.port
    requests = [
        lambda sent=sent: send_once(port, *sent) for sent in garbage(port, attacked.token, GARBAGE)
    ]
    async with good_calls(attacked.agent):
        words = await all_at_once(requests, AT_ONCE)
    assert len(words) == GARBAGE
    assert (
        {b"200", b"400", b"401", b"404"}
        <= statuses(words)
        <= {b"200", b"400", b"401", b"404", b"413", b"431", b""}
    )
    assert [each for each in words if b"Traceback" in each or b'File "' in each] == []
    assert attacked.peak_mb() - before <= MAX_GROWTH_MB


async def test_bodies_of_twenty_megabytes_are_refused_and_not_kept(attacked: Attacked) -> None:
    before = attacked.peak_mb()
    port = attacked.server.port
    pouring = [
        lambda token=token, chunked=chunked: send_too_much(
            port, token, TWENTY_MEGABYTES, chunked=chunked
        )
        for token in (attacked.token, "fm_no_token")
        for chunked in (False, True)
        for _ in range(POURING)
    ]
    async with good_calls(attacked.agent):
        words = await all_at_once(pouring, len(pouring))
        for token, status in (
            (attacked.token, b"413"),
            ("fm_no_token", b"413"),
        ):  # before any of the body is sent
            announced = head(port, token, TWENTY_MEGABYTES)
            assert statuses([await send_once(port, announced, is_whole=True)]) == {status}
    assert len(words) == 4 * POURING
    assert statuses(words) <= {
        b"413",
        b"401",
        b"",
    }  # a client that goes on sending may miss the answer
    assert attacked.peak_mb() - before <= MAX_GROWTH_MB
