"""The metrics of a server process, for Prometheus.

`mcp.server.operation.duration` and its attributes are of OpenTelemetry's semantic conventions for
MCP (https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp, status Development), written as
Prometheus writes such names. The label `fleet` of all but the process's own keeps the fleets of one
Prometheus apart. No label grows with the fleet: none names a program, a lesson or a text.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import count as counting
from typing import Final, NamedTuple, get_args

import anyio
from mcp.types import INTERNAL_ERROR
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fleet_memory import __version__
from fleet_memory.errors import RPC_RATE_LIMITED, FleetMemoryError, RateLimitedError, SettingsError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.tokens import is_live
from fleet_memory.schemas.knowledge import LedgerEvent
from fleet_memory.server.composition import LazyFleet, every_tool
from fleet_memory.server.engines import StoreUse
from fleet_memory.server.http.addresses import Bind
from fleet_memory.server.observing.requests import (
    OK,
    RequestObserver,
    SeenRequest,
    Watcher,
    log_request,
)
from fleet_memory.settings import Settings

_logger = logging.getLogger(__name__)

DURATION_BUCKETS_S: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds. Source: the semantic conventions, advice for this metric."""
TOOL_ERROR: Final = "tool_error"  # the conventions' error.type of an answer with isError
_RPC_CODES: Final = {
    OK: "",
    RateLimitedError.code: str(RPC_RATE_LIMITED),
    FleetMemoryError.code: str(INTERNAL_ERROR),
}
"""The `error_type` of an outcome that is neither a tool's error nor a code of JSON-RPC."""

REFUSING: Final = (401, 403, 413, 421, 429, 500, 503)
"""Statuses of HTTP that a rate needs the zero of; all of them come before a tool, or instead of its
answer.
"""
LEDGER_EVENTS: Final = tuple(
    event for part in get_args(LedgerEvent) for event in get_args(part) or (part,)
)
"""Of the ledger's lines: `LedgerEvent` is a union of literals."""


class FleetState(NamedTuple):
    """Numbers of the whole fleet, as its store has them: every server of the fleet reports the
    same.

    `last_run_at` is in seconds since 1970, None before the first run of maintenance.
    """

    pending_lessons: int
    open_pairs: int
    maintenance_runs: int
    last_run_at: float | None


class Metrics:
    """The metrics of one server. `use` is of its store.

    `state` is None while the fleet could not be read, and `is_store_up` before the first try.
    `tokens_end_at` is when the first of the live tokens ends, in seconds since 1970; None if none
    does.
    """

    def __init__(self, use: StoreUse, tools: Collection[str], fleet: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # of prometheus_client: series that no alert reads
        self.registry = CollectorRegistry()
        self._fleet = fleet
        self.state: FleetState | None = None
        self.is_store_up: bool | None = None
        self.tokens_end_at: float | None = None
        self._durations = Histogram(
            "mcp_server_operation_duration_seconds",
            "MCP request duration as observed on the receiver, until the result is sent.",
            ["fleet", "mcp_method_name", "gen_ai_tool_name", "error_type"],
            registry=self.registry,
            buckets=DURATION_BUCKETS_S,
        )
        self._calls = Counter(
            "fleet_memory_tool_calls",
            "Tool calls by tool and outcome: ok, cancelled, or the code of the error.",
            ["fleet", "tool", "outcome"],
            registry=self.registry,
        )
        for tool in tools:
            self._calls.labels(fleet, tool, OK)  # a rate needs the zero before the first call
        self._answers = Counter(
            "fleet_memory_http_answers",
            "Answers at the endpoint by status of HTTP, before any tool or by it.",
            ["fleet", "status"],
            registry=self.registry,
        )
        for status in REFUSING:
            self._answers.labels(fleet, status)
        Info(
            "fleet_memory_build",
            "The version of this server, and its fleet.",
            registry=self.registry,
        ).info({"fleet": fleet, "version": __version__})
        ProcessCollector(registry=self.registry)
        self.registry.register(_Readings(self, use, fleet))

    def watch(self, seen: SeenRequest) -> None:
        """Count a request; a `Watcher`."""
        error = TOOL_ERROR if seen.is_tool_error else _RPC_CODES.get(seen.outcome, seen.outcome)
        self._durations.labels(self._fleet, seen.method, seen.tool or "", error).observe(
            seen.seconds
        )
        if seen.tool:
            self._calls.labels(self._fleet, seen.tool, seen.outcome).inc()

    def count_answer(self, status: int) -> None:
        """Count an answer at the endpoint."""
        self._answers.labels(self._fleet, status).inc()


class _Readings(Collector):
    """Metrics read at each scrape, from counts that other modules keep."""

    def __init__(self, metrics: Metrics, use: StoreUse, fleet: str) -> None:
        self._metrics = metrics
        self._use = use
        self._fleet = fleet

    def collect(self) -> Iterator[Metric]:
        """See `Collector.collect`."""
        yield self._counts(
            "fleet_memory_store_operations",
            "Operations of the store by this process: billed reads and writes, and commits "
            "that lost a race.",
            "operation",
            {"read": self._use.reads, "write": self._use.writes, "conflict": self._use.conflicts},
        )
        yield self._counts(
            "fleet_memory_ledger_lines",
            "Changes of shared knowledge that this process wrote to the ledger, by event.",
            "event",
            {event: self._use.ledger[event] for event in LEDGER_EVENTS},
        )
        if (is_up := self._metrics.is_store_up) is not None:
            yield self._gauge(
                "fleet_memory_store_up", "1 if the store answered when asked last, else 0.", is_up
            )
        if (ends_at := self._metrics.tokens_end_at) is not None:
            yield self._gauge(
                "fleet_memory_tokens_expire_timestamp_seconds",
                "When the first of the live tokens ends, in seconds since 1970.",
                ends_at,
            )
        if state := self._metrics.state:
            yield from self._of_fleet(state)

    def _of_fleet(self, state: FleetState) -> Iterator[Metric]:
        yield self._gauge(
            "fleet_memory_pending_lessons",
            "Lessons that no run has considered yet.",
            state.pending_lessons,
        )
        yield self._gauge(
            "fleet_memory_open_pairs", "Pairs that wait for a verdict.", state.open_pairs
        )
        runs = CounterMetricFamily(
            "fleet_memory_maintenance_runs", "Runs of maintenance.", labels=["fleet"]
        )
        runs.add_metric([self._fleet], state.maintenance_runs)
        yield runs
        if state.last_run_at is not None:
            yield self._gauge(
                "fleet_memory_maintenance_last_run_timestamp_seconds",
                "When maintenance ran last, in seconds since 1970.",
                state.last_run_at,
            )

    def _gauge(self, name: str, documentation: str, reading: float) -> Metric:
        family = GaugeMetricFamily(name, documentation, labels=["fleet"])
        family.add_metric([self._fleet], reading)
        return family

    def _counts(self, name: str, documentation: str, label: str, counts: dict[str, int]) -> Metric:
        family = CounterMetricFamily(name, documentation, labels=["fleet", label])
        for value, count in counts.items():
            family.add_metric([self._fleet, value], count)
        return family


DEFAULT_METRICS: Final = Bind("127.0.0.1", 9464, may_be_taken=True)
"""Source: OpenTelemetry's default port of a Prometheus exporter. Another server of this machine may
have it.
"""
READ_EVERY_S: Final = 60.0  # seconds between two readings of the fleet, each billed 3 reads; chosen
TOKENS_EVERY: Final = 10  # readings; tokens are read with each of these, 1 read a token; chosen


@asynccontextmanager
async def observed(
    settings: Settings, lazy: LazyFleet, bind: Bind | None
) -> AsyncIterator[tuple[Sequence[RequestObserver], Callable[[int], None]]]:
    """Yield what observes a server over HTTP, mcp middleware and a function that takes the status
    of each answer, and observe its fleet while it is open; metrics at `bind`, if any.

    Raises SettingsError.
    """
    watchers: list[Watcher] = [log_request] if settings.log_format == "json" else []
    metrics = None
    if bind is not None:
        metrics = Metrics(lazy.use, every_tool(), settings.fleet)
        serve_metrics(metrics, bind)
        watchers.append(metrics.watch)
    middleware = [RequestObserver(watchers, every_tool(), settings.program)] if watchers else []
    # No task group: it would wrap the SystemExit of a server that cannot start.
    reading = asyncio.create_task(_read_often(lazy, metrics)) if metrics else None
    try:
        yield middleware, metrics.count_answer if metrics else lambda _: None
    finally:
        if reading:
            reading.cancel()


def serve_metrics(metrics: Metrics, bind: Bind) -> None:
    """Serve the metrics until the process ends. Raises SettingsError if a configured address is
    taken.
    """
    try:
        server, _ = start_http_server(bind.port, bind.host, metrics.registry)
    except OSError as error:
        problem = f"{bind.host}:{bind.port} cannot be bound: {error.strerror or error}"
        if not bind.may_be_taken:
            raise SettingsError(f"--metrics: {problem}.") from error
        _logger.warning(
            "no metrics are served: %s; choose another address by --metrics HOST:PORT", problem
        )
    else:
        _logger.info("metrics are at http://%s:%d/metrics", bind.host, server.server_port)


async def _read_often(lazy: LazyFleet, metrics: Metrics) -> None:
    fleet = await lazy.once_open()
    for reading in counting():
        state = None  # old numbers would be wrong ones
        try:
            state = await fleet_state(fleet)
            if reading % TOKENS_EVERY == 0:
                metrics.tokens_end_at = await first_end_of_tokens(fleet)
        except FleetMemoryError as error:
            _logger.warning(
                "the fleet's numbers cannot be read: %s %s", error, error.operator_detail
            )
        except Exception:  # the outermost edge of this task
            _logger.exception("the fleet's numbers could not be read")
        metrics.state, metrics.is_store_up = state, state is not None
        await anyio.sleep(READ_EVERY_S)


async def first_end_of_tokens(fleet: Fleet) -> float | None:
    """Return when the first of the live tokens ends, in seconds since 1970; None if none does.
    Billed 1 read each.
    """
    live = [each.value for each in await fleet.tokens.all() if is_live(each.value, fleet.now())]
    return min((each.expires_at.timestamp() for each in live if each.expires_at), default=None)


async def fleet_state(fleet: Fleet) -> FleetState:
    """Return the numbers of a fleet. Billed 1 read and 2 sums."""
    last = (await fleet.last_runs.read()).value
    return FleetState(
        pending_lessons=await fleet.programs.count_pending(),
        open_pairs=await fleet.pairs.count_open(),
        maintenance_runs=last.run,
        last_run_at=last.at.timestamp() if last.at else None,
    )
