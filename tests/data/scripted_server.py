"""A small server over stdio for the tests of benchmarks/: each tool does as its name."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias, TypedDict, cast

Json: TypeAlias = dict[str, object]


class Arguments(TypedDict, total=False):
    """The arguments of all tools."""

    text: str
    bytes: int
    milliseconds: int


def keep(arguments: Arguments) -> Json:
    """Append a text to the memory."""
    with Path("texts").open("a", encoding="utf-8") as file:
        file.write(arguments["text"] + "\n")
    return text("kept")


def show(_: Arguments) -> Json:
    """Return all texts."""
    return text(Path("texts").read_text(encoding="utf-8"))


def work(arguments: Arguments) -> Json:
    """Use the processor."""
    until = time.process_time() + arguments["milliseconds"] / 1000
    while time.process_time() < until:
        pass
    return text("worked")


def write(arguments: Arguments) -> Json:
    """Write a file, and answer at length."""
    Path("written").write_bytes(b"x" * arguments["bytes"])
    return text("y" * 1000)


def refuse(_: Arguments) -> Json:
    """Return an error of the tool."""
    return text("not today") | {"isError": True}


def end(_: Arguments) -> Json:
    """End the server without an answer."""
    sys.exit("out of ideas")


def chat(_: Arguments) -> Json:
    """Print a line that is no message, ask the client something, and return its refusal."""
    say("a line that is no message")
    say(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "roots/list"}))
    return text(f"refused with {json.loads(sys.stdin.readline())['error']['code']}")


TOOLS: Final[dict[str, Callable[[Arguments], Json]]] = {
    each.__name__: each for each in (keep, show, work, write, refuse, end, chat)
}


def main() -> None:
    """Answer until the input ends; the tool "keep silent" has no answer."""
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            answer(
                message["id"], {"result": {"protocolVersion": message["params"]["protocolVersion"]}}
            )
        elif message.get("method") == "tools/call" and message["params"]["name"] != "keep silent":
            tool = TOOLS.get(message["params"]["name"])
            unknown: Json = {"error": {"code": -32602, "message": "unknown"}}
            arguments = cast("Arguments", message["params"]["arguments"])
            answer(message["id"], {"result": tool(arguments)} if tool else unknown)


def text(words: str) -> Json:
    """Return a tool's result."""
    return {"content": [{"type": "text", "text": words}]}


def answer(message_id: int, outcome: Json) -> None:
    """Send a result or an error."""
    say(json.dumps({"jsonrpc": "2.0", "id": message_id, **outcome}))


def say(line: str) -> None:
    """Send a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
