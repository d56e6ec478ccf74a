"""An outage of the store, and refusals before any tool, show in the metrics."""

from pathlib import Path

import anyio
import httpx2
import pytest

from fleet_memory.clock import clock
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.addresses import Bind
from fleet_memory.server.observing.metrics import observed
from fleet_memory.settings import load
from tests.bounds import HANG_S
from tests.http_server import HttpServer, http_server
from tests.test_http_observed import token_of
from tests.test_http_tokens import called
from tests.test_metrics import Samples, free_port, scraped, value

GARBAGE = b"garbage!" * 2000


def break_store(store: Path) -> None:
    for file in store.parent.glob(f"{store.name}*"):
        with file.open("r+b") as opened:
            opened.write(GARBAGE)


def counted(seen: Samples, status: int) -> float | None:
    return value(seen, "fleet_memory_http_answers_total", status=str(status))


async def status_after_outage(server: HttpServer, token: str) -> int:
    """Call until the server has noticed the outage; it trusts a token for some seconds."""
    with anyio.fail_after(HANG_S):
        while (
            answer := await anyio.to_thread.run_sync(called, server, f"Bearer {token}")
        ).status_code == 200:
            await anyio.lowlevel.checkpoint()
    return answer.status_code


@pytest.mark.anyio
async def test_calls_in_an_outage_of_the_store_are_counted_at_the_door(tmp_path: Path) -> None:
    store, port = tmp_path / "memory.db", free_port()
    token = await anyio.to_thread.run_sync(token_of, store, "basher")
    with http_server(store, "--metrics", f"127.0.0.1:{port}") as server:
        assert called(server, f"Bearer {token}").status_code == 200
        before = scraped(port)
        assert (counted(before, 200), counted(before, 503)) == (1, 0)
        break_store(store)
        assert await status_after_outage(server, token) == 503
        assert counted(scraped(port), 503) == 1


@pytest.mark.anyio
async def test_a_store_that_does_not_answer_is_down_in_the_metrics(tmp_path: Path) -> None:
    store, port = tmp_path / "memory.db", free_port()
    store.write_bytes(GARBAGE)
    settings = load({"store": str(store), "embedder": "lexical"}, {})
    lazy = LazyFleet(settings, clock(None))
    async with observed(settings, lazy, Bind("127.0.0.1", port)):
        assert value(await anyio.to_thread.run_sync(scraped, port), "fleet_memory_store_up") is None
        await lazy.fleet()
        with anyio.fail_after(HANG_S):
            while (
                up := value(await anyio.to_thread.run_sync(scraped, port), "fleet_memory_store_up")
            ) is None:
                await anyio.lowlevel.checkpoint()
    await lazy.close()
    assert up == 0


def test_refusals_are_counted_by_status_and_questions_for_health_are_not(tmp_path: Path) -> None:
    store, port = tmp_path / "memory.db", free_port()
    token = token_of(store, "basher")
    with http_server(store, "--metrics", f"127.0.0.1:{port}") as server:
        called(server, "Bearer garbage")
        httpx2.get(f"{server.base}/readyz")
        httpx2.get(f"{server.base}/healthz")
        headers = {"Authorization": f"Bearer {token}", "Host": "elsewhere.example"}
        httpx2.post(server.url, json={}, headers=headers)
        seen = scraped(port)
    assert {status: counted(seen, status) for status in (200, 401, 403, 413, 421, 503)} == {
        200: None,
        401: 1,
        403: 0,
        413: 0,
        421: 1,
        503: 0,
    }
