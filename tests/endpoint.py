"""An embeddings endpoint on this machine, for tests: a real HTTP server with scripted answers."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import anyio

from fleet_memory.similarity.lexical import Lexical
from tests.bounds import HANG_S
from tests.serving import serving

Answer = tuple[int, bytes]


class Endpoint:
    """The value of `served`. `script` holds the next answers; when it is empty, every text gets a
    true vector.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.script: deque[Answer | Callable[[], Answer]] = deque()
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.down = False
        self.released = threading.Event()

    def answer(self, question: dict[str, Any]) -> Answer:
        self.asked.append(question)
        if self.down:
            return 503, b"down"
        if self.script:
            scripted = self.script.popleft()
            return scripted() if callable(scripted) else scripted
        return 200, embeddings(self.vectors(question["input"]))

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        found: list[list[float]] = anyio.run(Lexical().vectors, texts).tolist()
        return found

    def never(self) -> Answer:
        """Answer when the test is over."""
        self.released.wait(HANG_S)
        return 200, b""


def embeddings(vectors: Sequence[Sequence[float]]) -> bytes:
    rows = [
        {"object": "embedding", "index": at, "embedding": list(row)}
        for at, row in enumerate(vectors)
    ]
    return json.dumps({"object": "list", "data": rows[::-1], "model": "m"}).encode()


@contextmanager
def served() -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.keys.append(self.headers["Authorization"])
            status, body = (
                endpoint.answer(question) if self.path == "/v1/embeddings" else (404, b"")
            )
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # who asked has given up
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the base class's name

    with serving(Handler) as port:
        endpoint = Endpoint(port)
        try:
            yield endpoint
        finally:
            endpoint.released.set()
