"""Printing and asking: the light half of the command line; `terminal` has the bars."""

import argparse
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from fleet_memory.errors import FleetMemoryError


def print_json(content: Mapping[str, object]) -> None:
    """Print one JSON object: indented for a person, compact for a pipe."""
    shape = {"indent": 2} if sys.stdout.isatty() else {"separators": (",", ":")}
    say(json.dumps(content, ensure_ascii=False, **shape))


class OutputError(FleetMemoryError):
    """The output cannot be written, e.g. because the disk is full. A change that the command made
    stays.
    """


def print_answer(content: Mapping[str, object], text: str, *, as_json: bool) -> None:
    """Print an answer: as a text for people, or as one JSON object with the same content."""
    if as_json:
        print_json(content)
    else:
        say(text)


def add_limit_flag(
    parser: argparse.ArgumentParser, what: str, default: int = 25, limit: int = 100
) -> None:
    """Define --limit: how many items the answer has."""

    def count(text: str) -> int:
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= limit):
            raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {limit}")
        return int(text)

    parser.add_argument(
        "--limit",
        metavar="N",
        type=count,
        default=default,
        help=f"{what}, 1 to {limit} (default {default})",
    )


def one_line(text: str) -> str:
    """Return an agent's text for a terminal: on one line, without the characters that steer one."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def with_omitted(content: Mapping[str, object], **left: int) -> dict[str, object]:
    """Return an answer with `omitted`, which counts the items that it leaves out; without it where
    there are none.
    """
    omitted = {name: count for name, count in left.items() if count}
    return {**content, **({"omitted": omitted} if omitted else {})}


def omitted_line(omitted: int, what: str = "--limit shows more") -> list[str]:
    """Return the line that counts items which are left out, none for 0."""
    return [f"and {omitted} more; {what}"] if omitted else []


def limited_lines(items: Sequence[str], limit: int) -> list[str]:
    """Return a line for each of the first items, and one that counts the others."""
    more = len(items) - limit
    others = [f"  and {more} more"] if more > 0 else []
    return [*(f"  {item}" for item in items[:limit]), *others]


def table_lines(rows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table without borders: each row's name once, before the first of its
    values.
    """
    wide = max((len(name) for name, values in rows.items() if values), default=0)
    for name, values in rows.items():
        for at, value in enumerate(values):
            yield f"{'' if at else name:<{wide}} {value}"


# fields of an answer that the lines above the others say
_ABOVE: Final = ("programId", "verdict", "advice", "dryRun")


def field_lines(content: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of an answer's fields, by their names, but for those that are said above."""
    fields = {name: value for name, value in content.items() if name not in _ABOVE}
    return table_lines({name: _worded(value) for name, value in fields.items()})


def print_fields(content: Mapping[str, object], *above: str, as_json: bool) -> None:
    """Print an answer: for people its fields below some lines, or as one JSON object."""
    print_answer(content, "\n".join([*above, *field_lines(content)]), as_json=as_json)


def limited(content: Mapping[str, object], limit: int) -> dict[str, object]:
    """Return an answer with the first items of each list, and `omitted`, how many others it has."""
    lists = {name: items for name, items in content.items() if isinstance(items, list)}
    shown = {name: items[:limit] for name, items in lists.items()}
    left = {name: max(0, len(items) - limit) for name, items in lists.items()}
    return with_omitted({**content, **shown}, **left)


def _worded(value: object) -> list[str]:
    """Return a field's value as lines for a person, e.g. ["2 programs, 1 entries"]."""
    match value:
        case bool():
            return ["yes" if value else "no"]
        case Mapping():
            return [", ".join(_part(name, each) for name, each in value.items()) or "none"]
        case list():
            return [line for item in value for line in _worded(item)]
    return [str(value)]


def _part(name: str, value: object) -> str:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value} {name}" if is_count else f"{name} {', '.join(_worded(value))}"


def agreed(question: str = "Write this?") -> bool:
    """Ask a person, on stderr: stdout has the answer alone. Without a terminal the answer is no."""
    if not sys.stdin.isatty():
        complain("nothing was changed: pass --yes, or run this in a terminal and answer")
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def say(text: str, end: str = "\n") -> None:
    """Print to stdout. Raises BrokenPipeError when its reader has gone, OutputError when it cannot
    be written.
    """
    with _output_errors():
        print(text, end=end)  # noqa: T201 this is the command line


def require_stdout() -> None:
    """Raise OutputError where a shell closed stdout (`>&-`), for a command that is useless without
    it.
    """
    if isinstance(sys.stdout, _ClosedStream):
        raise OutputError("the output cannot be written: stdout is closed")


def complain(text: str) -> None:
    """Print to stderr."""
    with suppress(OSError):  # there is nowhere left to say so
        print(f"fleet-memory: {text}", file=sys.stderr)  # noqa: T201 this is the command line


def flush_output() -> None:
    """Flush the output. Raises as `say` does."""
    with _output_errors():
        print(end="", flush=True)  # noqa: T201 does nothing where there is no stdout, unlike `sys.stdout.flush()`


def discard_output() -> None:
    """Discard unprinted output: at exit Python itself retries writes that failed."""
    if not isinstance(sys.stdout, _ClosedStream):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _ClosedStream(io.StringIO):
    """Stands for a stream that a shell closed."""


def prepare_streams() -> None:
    """Make the text streams UTF-8, and give the process those that a shell closed, e.g. by `>&-`.

    Windows and the C locale give Python other encodings, which cannot print every lesson. A file
    that is opened later would take the place of a closed stream, and what is printed would go
    there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets this number, the lowest that is free
        if getattr(sys, name) is None:
            setattr(sys, name, _ClosedStream())
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output cannot be written: {error.strerror}") from error


def with_token(token_id: str | None) -> str:
    """Return e.g. " (token k3x9)" to put behind who wrote something; "" for no token."""
    return f" (token {token_id})" if token_id else ""
