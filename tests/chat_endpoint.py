"""A chat completions endpoint on this machine, for tests: a real HTTP server with a reader behind
it.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.bounds import HANG_S
from tests.serving import serving

Reply = tuple[int, bytes]
Reader = Callable[[str, str], str]
"""Returns a verdict about two texts, the first one first."""

TOKENS = 100  # that every completion reports as used


class ChatEndpoint:
    """The value of `chat_served`. `script` holds the next replies; when it is empty, `reader`
    judges.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.script: deque[Reply | Callable[[], Reply]] = deque()
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.reader: Reader = lambda _first, _second: "different"
        self.stalls = False
        self.released = threading.Event()

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The texts of all questions, the first one first."""
        return [texts_of(question) for question in self.asked]

    def reply(self, question: dict[str, Any]) -> Reply:
        self.asked.append(question)
        if self.script:
            scripted = self.script.popleft()
            return scripted() if callable(scripted) else scripted
        verdict = self.reader(*texts_of(question))
        return 200, completion(json.dumps({"verdict": verdict})) if verdict else b"no completion"

    def never(self) -> Reply:
        """Answer when the test is over."""
        self.released.wait(HANG_S)
        return 200, b""

    def breaks(self) -> Reply:
        """Break the connection without a word."""
        raise ConnectionAbortedError


def texts_of(question: dict[str, Any]) -> tuple[str, str]:
    lessons = json.loads(question["messages"][-1]["content"])
    return lessons["first"]["text"], lessons["second"]["text"]


def completion(content: str | None, tokens: int = TOKENS) -> bytes:
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens}
    return json.dumps(
        {"id": "c", "object": "chat.completion", "choices": choices, "usage": usage}
    ).encode()


@contextmanager
def chat_served() -> Iterator[ChatEndpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.keys.append(self.headers["Authorization"])
            with suppress(ConnectionError):  # who asked has given up, or the endpoint breaks off
                status, body = (
                    endpoint.reply(question) if self.path == "/v1/chat/completions" else (404, b"")
                )
                self.send_response(status)
                self.send_header("Content-Length", str(len(body) + endpoint.stalls))
                self.end_headers()
                self.wfile.write(body)
                if endpoint.stalls:  # the last byte never comes
                    endpoint.released.wait(HANG_S)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the base class's name

    with serving(Handler) as port:
        endpoint = ChatEndpoint(port)
        try:
            yield endpoint
        finally:
            endpoint.released.set()
