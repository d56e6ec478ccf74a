"""The bodies of one token take bounded memory, however many of its connections send at once."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2

from fleet_memory.server.http.app import MAX_BODY_BYTES
from tests.http_server import HttpServer, http_server
from tests.test_http_observed import token_of

TYPES = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@contextmanager
def unfinished(server: HttpServer, token: str) -> Iterator[socket.socket]:
    """Send the largest body but for its last byte."""
    headers = {
        "Host": "localhost",
        "Authorization": f"Bearer {token}",
        "Content-Length": MAX_BODY_BYTES,
        **TYPES,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode())
        connection.sendall(b" " * (MAX_BODY_BYTES - 1))
        yield connection


def pinged(server: HttpServer, token: str) -> int:
    headers = TYPES | {"Authorization": f"Bearer {token}"}
    return httpx2.post(server.url, json=PING, headers=headers, timeout=20).status_code


def test_a_token_with_many_bodies_under_way_is_refused_and_no_other_is(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    flooding, other = token_of(store, "basher"), token_of(store, "sark")
    with http_server(store) as server:
        assert (pinged(server, flooding), pinged(server, other)) == (200, 200)
        with ExitStack() as stack:
            connections = [stack.enter_context(unfinished(server, flooding)) for _ in range(20)]
            assert pinged(server, other) == 200
            refused: set[socket.socket] = set()
            while len(refused) < 4:  # 16 of them fit
                ready, _, _ = select.select(
                    [each for each in connections if each not in refused], [], [], 15
                )
                assert ready
                refused.update(ready)
            assert {each.recv(12) for each in refused} == {b"HTTP/1.1 429"}
            assert (
                select.select([each for each in connections if each not in refused], [], [], 0.2)[0]
                == []
            )
        assert any(
            pinged(server, flooding) == 200 for _ in range(100)
        )  # once the server sees that they are gone
