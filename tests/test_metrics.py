"""Prometheus metrics: served on a port of their own, and no label grows with the fleet."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from prometheus_client.parser import text_string_to_metric_families

from fleet_memory.errors import SettingsError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import NewToken, create_token, revoke_tokens_of
from fleet_memory.server.composition import every_tool
from fleet_memory.server.engines import StoreUse
from fleet_memory.server.http.addresses import Bind
from fleet_memory.server.observing.metrics import (
    DEFAULT_METRICS,
    DURATION_BUCKETS_S,
    LEDGER_EVENTS,
    REFUSING,
    FleetState,
    Metrics,
    first_end_of_tokens,
    serve_metrics,
)
from fleet_memory.server.observing.requests import SeenRequest
from tests.bounds import HANG_S
from tests.http_server import HttpServer, http_server

LESSON = {"domain": "git", "confidence": 0.9, "evidence": "It broke twice"}
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(of: Samples, name: str, /, **labels: str) -> float | None:
    """Return a sample of the fleet of these tests."""
    return of.get((name, frozenset({"fleet": "default", **labels}.items())))


def scraped(port: int) -> Samples:
    return samples(httpx2.get(f"http://127.0.0.1:{port}/metrics", timeout=HANG_S).text)


@pytest.fixture
def metrics_port() -> int:
    return free_port()


@pytest.fixture
def server(tmp_path: Path, metrics_port: int) -> Iterator[HttpServer]:
    flags = ["--no-tokens", "--metrics", f"127.0.0.1:{metrics_port}"]
    with http_server(tmp_path / "memory.db", *flags) as server:
        yield server


@pytest.mark.anyio
async def test_a_server_counts_calls_operations_of_its_store_and_promotions(
    server: HttpServer, metrics_port: int
) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(server.url) as client:
            for program in ("wren", "atlas"):
                lesson = {
                    **LESSON,
                    "pattern": "Rebase before you push to the shared branch",
                    "evidence": f"{program} lost a commit by it",
                }
                await client.call_tool("store_memory", {"programId": program, "pattern": lesson})
            await client.call_tool("pattern_consolidate", {})
            await client.call_tool("recall_memory", {})
            await client.call_tool("a lesson", {})
        seen = await anyio.to_thread.run_sync(scraped, metrics_port)
    calls = "fleet_memory_tool_calls_total"
    duration = "mcp_server_operation_duration_seconds_count"
    by_tool = {"mcp_method_name": "tools/call", "gen_ai_tool_name": "recall_memory"}
    assert value(seen, calls, tool="store_memory", outcome="ok") == 2
    assert value(seen, calls, tool="recall_memory", outcome="invalid_argument") == 1
    assert value(seen, calls, tool="unknown", outcome="invalid_argument") == 1
    assert value(seen, calls, tool="memory_health", outcome="ok") == 0
    assert value(seen, duration, error_type="tool_error", **by_tool) == 1
    assert value(seen, "fleet_memory_ledger_lines_total", event="promoted") == 1
    assert (value(seen, "fleet_memory_store_operations_total", operation="write") or 0) >= 3
    assert value(seen, "fleet_memory_store_operations_total", operation="conflict") == 0
    assert value(seen, "fleet_memory_pending_lessons") is not None


def test_a_second_server_of_one_machine_warns_and_has_no_metrics(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.socket() as taken:
        with suppress(OSError):  # else another server of this machine has it
            taken.bind((DEFAULT_METRICS.host, DEFAULT_METRICS.port))
            taken.listen()
        serve_metrics(Metrics(StoreUse(), (), "default"), DEFAULT_METRICS)
    (line,) = caplog.messages
    assert line.startswith("no metrics are served: 127.0.0.1:9464 cannot be bound: ")
    assert line.endswith("; choose another address by --metrics HOST:PORT")


def test_an_address_that_somebody_chose_and_that_is_taken_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bind = Bind("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(SettingsError, match=r"--metrics: 127\.0\.0\.1:\d+ cannot be bound"):
            serve_metrics(Metrics(StoreUse(), (), "default"), bind)


def seen(
    method: str = "tools/call", tool: str | None = "recall_memory", outcome: str = "ok"
) -> SeenRequest:
    return SeenRequest(1, method, "basher", "agent", "a1", tool, outcome, 0.03, StoreUse())


def read(metrics: Metrics) -> str:
    from prometheus_client import generate_latest

    return generate_latest(metrics.registry).decode()


def test_an_error_of_the_protocol_is_named_by_its_code_and_one_of_a_tool_is_a_tool_error() -> None:
    metrics = Metrics(StoreUse(), (), "default")
    for request in (
        *(seen(), seen(outcome="conflict"), seen(outcome="internal")),
        *(seen("prompts/get", None, outcome) for outcome in ("-32602", "rate_limited", "internal")),
    ):
        metrics.watch(request)
    counts = {
        labels: count
        for (name, labels), count in samples(read(metrics)).items()
        if name == "mcp_server_operation_duration_seconds_count"
    }
    fleet = {("fleet", "default")}
    call = fleet | {("mcp_method_name", "tools/call"), ("gen_ai_tool_name", "recall_memory")}
    prompt = fleet | {("mcp_method_name", "prompts/get"), ("gen_ai_tool_name", "")}
    assert counts == {
        frozenset(call | {("error_type", "")}): 1,
        frozenset(call | {("error_type", "tool_error")}): 2,
        frozenset(prompt | {("error_type", "-32602")}): 1,
        frozenset(prompt | {("error_type", "-32010")}): 1,
        frozenset(prompt | {("error_type", "-32603")}): 1,
    }


def test_no_label_names_a_program_and_all_have_few_values() -> None:
    metrics = Metrics(StoreUse(), every_tool(), "default")
    for number in range(1_000):
        metrics.watch(
            seen()._replace(program=f"program-{number}", token=f"t{number}", request_id=number)
        )
    metrics.state = FleetState(3, 2, 7, 1_700_000_000.0)
    text = read(metrics)
    assert "program-" not in text
    labels = {name for (_, pairs) in samples(text) for name, _ in pairs}
    assert labels == {
        *("mcp_method_name", "gen_ai_tool_name", "error_type", "le"),
        *("fleet", "tool", "outcome", "status", "operation", "event", "version"),
    }
    assert (
        len(samples(text))
        < len(every_tool()) + len(DURATION_BUCKETS_S) + len(LEDGER_EVENTS) + len(REFUSING) + 30
    )


def test_every_series_names_its_fleet_but_those_of_the_process() -> None:
    metrics = Metrics(StoreUse(), every_tool(), "blue")
    metrics.watch(seen())
    metrics.state, metrics.is_store_up = FleetState(3, 2, 7, 1_700_000_000.0), True
    fleets = {
        (name.partition("_")[0], dict(labels).get("fleet"))
        for name, labels in samples(read(metrics))
    }
    assert fleets == {("mcp", "blue"), ("fleet", "blue"), ("process", None)}


def test_a_fleet_that_could_not_be_read_has_no_numbers() -> None:
    metrics = Metrics(StoreUse(), (), "default")
    assert "fleet_memory_pending_lessons" not in read(metrics)
    metrics.state = FleetState(3, 2, 0, None)
    assert value(samples(read(metrics)), "fleet_memory_pending_lessons") == 3
    assert "fleet_memory_maintenance_last_run" not in read(metrics)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--http", "127.0.0.1:0", "--metrics", "9464"], "--metrics: '9464' is no HOST:PORT"),
        (["--metrics", "127.0.0.1:9464"], "--metrics: counts with --http alone"),
    ],
)
def test_a_bad_address_is_refused(flags: list[str], problem: str) -> None:
    words = [sys.executable, "-m", "fleet_memory", "serve", *flags]
    done = subprocess.run(  # noqa: S603 words of this test
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert (done.returncode, problem in done.stderr) == (2, True)


@pytest.mark.anyio
async def test_the_first_end_of_a_live_token_is_a_metric(fleet: Fleet) -> None:
    assert await first_end_of_tokens(fleet) is None
    for name, hours in (("wren", 48), ("atlas", 24), ("iso", 1), ("basher", None)):
        life = timedelta(hours=hours) if hours else None
        made = await create_token(fleet, NewToken(name, lifetime=life))
        if name == "atlas":
            first = made.record.expires_at
    await revoke_tokens_of(fleet, "iso")
    metrics = Metrics(StoreUse(), (), "default")
    metrics.tokens_end_at = await first_end_of_tokens(fleet)
    assert first
    seen = value(samples(read(metrics)), "fleet_memory_tokens_expire_timestamp_seconds")
    assert seen == first.timestamp()
