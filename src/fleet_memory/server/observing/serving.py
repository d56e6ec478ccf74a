"""Puts together what a server over HTTP observes of itself, and where it shows it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import anyio
from mcp.server.context import ServerMiddleware

from fleet_memory.errors import FleetMemoryError, SettingsError
from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.addresses import Bind
from fleet_memory.server.limits import CallLimits
from fleet_memory.server.observing.metrics import FleetState, Metrics
from fleet_memory.server.observing.requests import RequestObserver, Watcher, log_request
from fleet_memory.server.toolsets import EVERY_TOOL
from fleet_memory.settings import Settings

DEFAULT_METRICS: Final = Bind("127.0.0.1", 9464, may_be_taken=True)
"""Source: OpenTelemetry's default port of a Prometheus exporter. Another server of this machine may
have it.
"""
READ_EVERY_S: Final = 60.0  # seconds between two readings of the fleet, each billed 3 reads; chosen

_logger = logging.getLogger(__name__)


class Observing(NamedTuple):
    """The observers of a server: mcp middleware, and a function that takes the status of each
    answer, if metrics do.
    """

    middleware: list[ServerMiddleware[LazyFleet]]
    count_answer: Callable[[int], None] | None


@asynccontextmanager
async def observed(
    settings: Settings, lazy: LazyFleet, bind: Bind | None
) -> AsyncIterator[Observing]:
    """Yield the observers of a server over HTTP, and observe its fleet meanwhile; metrics at
    `bind`, if any.

    Raises SettingsError.
    """
    watchers: list[Watcher] = [log_request] if settings.log_format == "json" else []
    metrics = None
    if bind is not None:
        metrics = Metrics(lazy.use, EVERY_TOOL, settings.fleet)
        serve_metrics(metrics, bind)
        watchers.append(metrics.watch)
    observers = [RequestObserver(watchers, EVERY_TOOL, settings.program)] if watchers else []
    middleware: list[ServerMiddleware[LazyFleet]] = [*observers, CallLimits(settings.rate)]
    # No task group: it would wrap the SystemExit of a server that cannot start.
    reading = asyncio.create_task(_read_often(lazy, metrics)) if metrics else None
    try:
        yield Observing(middleware, metrics.count_answer if metrics else None)
    finally:
        if reading:
            reading.cancel()


def serve_metrics(metrics: Metrics, bind: Bind) -> None:
    """Serve the metrics until the process ends. Raises SettingsError if an address that somebody
    chose is taken.
    """
    try:
        port = metrics.serve(bind.host, bind.port)
    except OSError as error:
        problem = f"{bind.host}:{bind.port} cannot be bound: {error.strerror or error}"
        if not bind.may_be_taken:
            raise SettingsError(f"--metrics: {problem}.") from error
        _logger.warning(
            "no metrics are served: %s; choose another address by --metrics HOST:PORT", problem
        )
    else:
        _logger.info("metrics are at http://%s:%d/metrics", bind.host, port)


async def _read_often(lazy: LazyFleet, metrics: Metrics) -> None:
    fleet = await lazy.once_open()
    while True:
        state = None  # old numbers would be wrong ones
        try:
            state = await fleet_state(fleet)
        except FleetMemoryError as error:
            _logger.warning(
                "the fleet's numbers cannot be read: %s %s", error, error.operator_detail
            )
        except Exception:  # the outermost edge of this task
            _logger.exception("the fleet's numbers could not be read")
        metrics.state, metrics.is_store_up = state, state is not None
        await anyio.sleep(READ_EVERY_S)


async def fleet_state(fleet: Fleet) -> FleetState:
    """Return the numbers of a fleet. Billed 1 read and 2 sums."""
    last = (await fleet.last_runs.read()).last
    return FleetState(
        pending_lessons=await fleet.programs.count_pending(),
        open_pairs=await fleet.pairs.count_open(),
        maintenance_runs=last.run,
        last_run_at=last.at.timestamp() if last.at else None,
    )
