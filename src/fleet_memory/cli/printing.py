"""Printing and asking: the light half of the command line; `terminal` has the tables and bars."""

import argparse
import json
import os
import sys
from collections.abc import Mapping


def print_json(content: Mapping[str, object]) -> None:
    """Print one JSON object: indented for a person, compact for a pipe, escaped where stdout takes no UTF-8."""
    plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    shape = {"indent": 2} if sys.stdout.isatty() else {"separators": (",", ":")}
    say(json.dumps(content, ensure_ascii=plain, **shape))


def add_json_flag(parser: argparse.ArgumentParser) -> None:
    """Define --json: the answer is one JSON object on stdout, and nothing else is there."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def print_answer(content: Mapping[str, object], text: str, *, as_json: bool) -> None:
    """Print an answer: as a text for people, or as one JSON object with the same content."""
    if as_json:
        print_json(content)
    else:
        say(text)


def agreed(question: str = "Write this?") -> bool:
    """Ask a person, on stderr: stdout has the answer alone. Without a terminal the answer is no."""
    if sys.stdin is None or not sys.stdin.isatty():
        complain("nothing was changed: pass --yes, or run this in a terminal and answer")
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def say(text: str) -> None:
    """Print to stdout."""
    print(text)  # noqa: T201 this is the command line


def complain(text: str) -> None:
    """Print to stderr."""
    print(f"fleet-memory: {text}", file=sys.stderr)  # noqa: T201 this is the command line


def flush_output() -> None:
    """Flush the output. Raises BrokenPipeError when its reader has gone."""
    print(end="", flush=True)  # noqa: T201 does nothing where there is no stdout, unlike `sys.stdout.flush()`


def discard_output() -> None:
    """Discard unprinted output: at exit Python itself retries writes that failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
