"""Traces: spans of each request reach a collector over OTLP/HTTP, and have no text of a call."""

import os
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import cast

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import RequestParamsMeta

from tests.serving import serving

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

PRIVATE = "the zebra ate 4711 figs"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
STATE = f"vendor={PRIVATE.replace(' ', '_')}"
META = cast(
    "RequestParamsMeta", {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "tracestate": STATE}
)
LESSON = {"pattern": PRIVATE, "domain": "zoo", "confidence": 0.9, "evidence": PRIVATE}
WITHOUT_EXTRA = (
    "import sys; sys.modules['opentelemetry.sdk'] = None; from fleet_memory.cli import main; main()"
)


class _Collector(BaseHTTPRequestHandler):
    """A collector that takes traces over OTLP/HTTP."""

    bodies: list[bytes]

    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


async def received(tmp_path: Path, *words: str, endpoint: bool = True) -> tuple[list[bytes], str]:
    """Return the bodies that a collector got from a server over stdio after three calls, and the
    server's stderr.
    """
    bodies: list[bytes] = []
    with serving(type("Collector", (_Collector,), {"bodies": bodies})) as port:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FLEET_MEM", "OTEL_"))
        }
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"} if endpoint else {}
        variables |= {
            "FLEET_MEMORY_STORE": str(tmp_path / "memory.db"),
            "FLEET_MEMORY_EMBEDDER": "lexical",
        }
        server = StdioServerParameters(
            command=sys.executable,
            args=[*(words or ("-m", "fleet_memory")), "serve"],
            env={**environment, **variables, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        log = tmp_path / "stderr.txt"
        with anyio.fail_after(HANG_S), log.open("w", encoding="utf-8") as stderr:
            async with Client(stdio_client(server, errlog=stderr)) as client:
                await client.call_tool(
                    "store_memory", {"programId": "wren", "pattern": LESSON}, meta=META
                )
                await client.call_tool("recall_memory", {"programId": PRIVATE})
                await client.call_tool(PRIVATE, {PRIVATE: PRIVATE})
    return bodies, log.read_text(encoding="utf-8")


def tool_spans(bodies: list[bytes]) -> Iterator[Span]:
    for body in bodies:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            assert {"fleet-memory"} == {
                each.value.string_value
                for each in resource.resource.attributes
                if each.key == "service.name"
            }
            for scope in resource.scope_spans:
                yield from (span for span in scope.spans if span.name.startswith("tools/call"))


def attributes(span: Span) -> Mapping[str, str]:
    return {each.key: each.value.string_value for each in span.attributes}


async def test_a_collector_gets_a_span_of_each_call_without_its_texts(tmp_path: Path) -> None:
    bodies, log = await received(tmp_path)
    spans = list(tool_spans(bodies))
    call = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool"}
    assert [span.name.removeprefix("tools/call ") for span in spans] == [
        "store_memory",
        "recall_memory",
        "unknown",
    ]
    assert [dict(attributes(span)) | {"mcp.protocol.version": ""} for span in spans] == [
        {**call, "gen_ai.tool.name": "store_memory", "mcp.protocol.version": ""},
        {
            **call,
            "gen_ai.tool.name": "recall_memory",
            "mcp.protocol.version": "",
            "error.type": "tool_error",
        },
        {
            **call,
            "gen_ai.tool.name": "unknown",
            "mcp.protocol.version": "",
            "error.type": "tool_error",
        },
    ]
    assert spans[0].trace_id.hex() == TRACE  # the client's trace goes on
    assert spans[0].end_time_unix_nano > spans[0].start_time_unix_nano
    sent = b"".join(bodies)
    assert [word for word in PRIVATE.split() if len(word) > 3 and word.encode() in sent] == []
    assert log == ""


async def test_without_an_endpoint_nothing_is_sent(tmp_path: Path) -> None:
    assert await received(tmp_path, endpoint=False) == ([], "")


async def test_without_the_extra_nothing_is_sent_and_the_log_names_the_extra(
    tmp_path: Path,
) -> None:
    bodies, log = await received(tmp_path, "-c", WITHOUT_EXTRA)
    assert bodies == []
    assert (
        "OTEL_EXPORTER_OTLP_ENDPOINT is set, and no traces are sent: install fleet-memory[otel]"
        in log
    )
