"""Spans as they leave the machine: who called what, when and for how long, without any text of a
call.

mcp's spans have names that the client made up, messages of errors and of exceptions, and the
client's trace state.
"""

import re
from collections.abc import Sequence
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, Status

from fleet_memory import __version__
from fleet_memory.server.listing import tool_names
from fleet_memory.server.observing.requests import METHODS, OTHER_METHOD, TOOL_CALL, UNKNOWN_TOOL

_SCOPE: Final = "mcp-python-sdk"  # the tracer of mcp; no other library's spans leave
_METHOD: Final = "mcp.method.name"
_TOOL: Final = "gen_ai.tool.name"
_OPERATION: Final = "gen_ai.operation.name"
_PLAIN: Final = {  # attributes that pass, and the form of their values
    "mcp.protocol.version": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "error.type": re.compile(r"[A-Za-z_]\w{0,60}|-?\d{1,6}"),  # the name of a class, or a code
    "rpc.response.status_code": re.compile(r"-?\d{1,6}"),
}
_TOOLS: Final = frozenset(tool_names())


def exporting_provider() -> TracerProvider:
    """Return a provider that sends spans over OTLP/HTTP to the endpoint of the environment."""
    given = Resource.create({SERVICE_VERSION: __version__})
    is_named = not str(given.attributes[SERVICE_NAME]).startswith("unknown_service")
    resource = given if is_named else given.merge(Resource({SERVICE_NAME: "fleet-memory"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_TextFreeExporter(OTLPSpanExporter())))
    return provider


class _TextFreeExporter(SpanExporter):
    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See `SpanExporter.export`."""
        ours = [
            text_free(span)
            for span in spans
            if (scope := span.instrumentation_scope) and scope.name == _SCOPE
        ]
        return self._exporter.export(ours) if ours else SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """See `SpanExporter.shutdown`."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See `SpanExporter.force_flush`."""
        return self._exporter.force_flush(timeout_millis)


def text_free(span: ReadableSpan) -> ReadableSpan:
    """Return a span with the attributes that have few values, and without events, links, messages
    and trace state.
    """
    given = span.attributes or {}
    method = str(given.get(_METHOD))
    attributes = {_METHOD: method if method in METHODS else OTHER_METHOD}
    if method == TOOL_CALL:
        tool = str(given.get(_TOOL))
        attributes |= {_OPERATION: "execute_tool", _TOOL: tool if tool in _TOOLS else UNKNOWN_TOOL}
    attributes |= {
        name: value
        for name, form in _PLAIN.items()
        if name in given and form.fullmatch(value := str(given[name]))
    }
    return ReadableSpan(
        name=" ".join(attributes[name] for name in (_METHOD, _TOOL) if name in attributes),
        context=_without_state(span.context),
        parent=_without_state(span.parent),
        resource=span.resource,
        attributes=attributes,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _without_state(context: SpanContext | None) -> SpanContext | None:
    return context and SpanContext(
        context.trace_id, context.span_id, context.is_remote, context.trace_flags
    )
