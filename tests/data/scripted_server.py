"""A server over stdio for the tests of benchmarks/rpc.py: it does what each tool's name says."""

import json
import sys
import time
from pathlib import Path

NOT_SPEECH = "a line that is no message"


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            answer(message, {"protocolVersion": message["params"]["protocolVersion"]})
        elif message.get("method") == "tools/call":
            call(message, message["params"]["name"], message["params"]["arguments"])


def call(message: dict[str, object], tool: str, arguments: dict[str, int]) -> None:
    """Do what the tool is named for."""
    match tool:
        case "end":
            sys.exit("out of ideas")
        case "keep silent":
            return
        case "chat":
            say(NOT_SPEECH)
            say(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "roots/list"}))
            refusal = json.loads(sys.stdin.readline())
            answer(message, text(f"refused with {refusal['error']['code']}"))
        case "work":
            until = time.process_time() + arguments["milliseconds"] / 1000
            while time.process_time() < until:
                pass
            answer(message, text("worked"))
        case "write":
            Path("written").write_bytes(b"x" * arguments["bytes"])
            answer(message, text("y" * 1000))
        case "refuse":
            answer(message, text("not today") | {"isError": True})
        case _:
            say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "unknown"}}))


def text(words: str) -> dict[str, object]:
    """Return a tool's result."""
    return {"content": [{"type": "text", "text": words}]}


def answer(message: dict[str, object], result: dict[str, object]) -> None:
    """Send a result."""
    say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


def say(line: str) -> None:
    """Send a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
