"""Sends the spans that mcp makes of each request to an OpenTelemetry collector: `serve` with the
extra `otel`.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry.trace import set_tracer_provider

from fleet_memory.server.observing.log_format import set_up_logging
from fleet_memory.settings import Settings

ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
LAST_EXPORT_S: Final = (
    1.0  # seconds of a server's end for the last spans; chosen: clients end a server after 2 s
)

_logger = logging.getLogger(__name__)


@contextmanager
def tracing(settings: Settings) -> Iterator[None]:
    """Send the spans of the block where the environment says; warn instead where the extra is not
    installed.

    The SDK reads all variables of its own, e.g. OTEL_SERVICE_NAME and OTEL_TRACES_SAMPLER.
    """
    set_up_logging(settings)
    try:
        from fleet_memory.server.observing.spans import exporting_provider  # noqa: PLC0415 the extra
    except ModuleNotFoundError:
        _logger.warning(
            "%s is set, and no traces are sent: install fleet-memory[otel]", ENDPOINT_VARIABLE
        )
        yield
        return
    provider = exporting_provider()
    set_tracer_provider(provider)
    try:
        yield
    finally:
        last = threading.Thread(
            target=provider.shutdown, daemon=True
        )  # it waits for a collector that does not answer
        last.start()
        last.join(LAST_EXPORT_S)
