"""A front end with scripted answers, for tests of a client: a proxy, a login page, another MCP
server.
"""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from tests.bounds import HANG_S


class Reply(NamedTuple):
    """An answer; a body that is a name stands for the answers of an MCP server of that name."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: str = ""
    hangs: bool = False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    replies: Mapping[str, Reply] = {}
    asked: list[str]
    ended: threading.Event


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        door = " with a token" if "Authorization" in self.headers else ""
        self.server.asked.append(f"{self.command} {self.path}{door}")
        reply = (
            self.server.replies.get(f"{self.path}{door}")
            or self.server.replies.get(self.path)
            or Reply(404)
        )
        if reply.hangs:
            self.server.ended.wait(HANG_S)
            return
        body = (
            _mcp_answer(json.loads(sent), reply.body) if reply.body.isalpha() else reply.body
        ).encode()
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _mcp_answer(message: Mapping[str, object], name: str) -> str:
    results: Mapping[object, object] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        },
        "tools/list": {"tools": []},
    }
    method, head = message.get("method"), {"jsonrpc": "2.0", "id": message.get("id")}
    if method in results:
        return json.dumps({**head, "result": results[method]})
    return json.dumps({**head, "error": {"code": -32601, "message": "Method not found"}})


@contextmanager
def front_end(
    replies: Mapping[str, Reply], asked: list[str] | None = None, certificate: Path | None = None
) -> Iterator[str]:
    """Serve replies by path, e.g. {"/mcp": Reply(421)}, and yield the address; other paths are not
    found.

    "/mcp with a token" is for requests that bring one. `asked` gets a line for each request. A
    `certificate` is a file with its key, and makes it TLS.
    """
    server = _Server(("127.0.0.1", 0), _Handler)
    server.replies, server.asked, server.ended = (
        replies,
        [] if asked is None else asked,
        threading.Event(),
    )
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.ended.set()
        server.shutdown()
        thread.join(HANG_S)
        server.server_close()
