"""Printing and asking: one printer for every answer, as tables or as JSON."""

import argparse
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from fleet_memory.errors import EXIT_NO, FleetMemoryError, InvalidArgumentError

MAX_LISTED: Final = 25  # of a list of names; chosen
MAX_CELL_CHARS: Final = 60  # of a list of texts that stands in one line; chosen


class OutputError(FleetMemoryError):
    """The output cannot be written, e.g. because the disk is full. A change that the command made
    stays.
    """


class Output(NamedTuple):
    """What a command answers: printed as lines and tables, or as one JSON object of the same names.

    `columns` has the fields that a table shows of a list of objects, those behind a `|` on lines of
    their own, e.g. {"lessons": "id domain pattern | evidence"}; all fields without it. `notes` are
    sentences for people. `omitted` counts the items that a list leaves out, e.g. {"lessons": 3}.
    """

    content: Mapping[str, object]
    columns: Mapping[str, str] = {}
    notes: Sequence[str] = ()
    omitted: Mapping[str, int] = {}
    code: int = 0

    def wire(self) -> dict[str, object]:
        """Return it as JSON, without what is empty of notes and omitted items."""
        more = {"notes": [*self.notes], "omitted": +Counter(self.omitted)}
        return {**self.content, **{name: value for name, value in more.items() if value}}

    def lines(self) -> Iterator[str]:
        """Yield it for people: a line for each value, a table for each list of objects."""
        lines = [*_block(self.content, self.columns)]
        is_one_list = len(self.content) == 1 and len(lines) > 1
        yield from (line.removeprefix("  ") for line in lines[1:]) if is_one_list else lines
        yield from self.notes
        for name, count in (+Counter(self.omitted)).items():
            yield f"and {count} more {name}"


def limited(content: Mapping[str, object]) -> Output:
    """Return an output with the first 25 items of each list, and how many others there are."""
    lists = {name: items for name, items in content.items() if isinstance(items, list | tuple)}
    shown = {name: items[:MAX_LISTED] for name, items in lists.items()}
    omitted = {name: max(0, len(items) - MAX_LISTED) for name, items in lists.items()}
    return Output({**content, **shown}, omitted=omitted)


def _block(content: Mapping[str, object], columns: Mapping[str, str] = {}) -> Iterator[str]:
    inside: dict[str, Iterator[str]] = {}
    content = {name: value for name, value in content.items() if value not in (None, "")}
    for name, value in content.items():
        has_objects = isinstance(value, list | tuple) and any(isinstance(x, Mapping) for x in value)
        if isinstance(value, list | tuple) and (has_objects or len(_cell(value)) > MAX_CELL_CHARS):
            inside[name] = _table(value, columns.get(name, ""))
        elif isinstance(value, Mapping) and any(isinstance(each, str) for each in value.values()):
            inside[name] = _block(value)
    wide = max((len(name) for name in content.keys() - inside.keys()), default=0)
    for name, value in content.items():
        if name in inside:
            yield f"{name}:"
            yield from (f"  {line}" for line in inside[name])
        else:
            yield f"{name:{wide}}  {_cell(value) or 'none'}"


def _table(items: Sequence[object], columns: str) -> Iterator[str]:
    """Yield a head and a line for each object, a line for each text."""
    rows = [item for item in items if isinstance(item, Mapping)]
    line, _, below = columns.partition("|")
    known = line.split() or dict.fromkeys(name for row in rows for name in row)
    names = [name for name in known if any(_cell(row.get(name)) for row in rows)]
    cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells if rows else ()):
        padded = zip(row, wide, strict=True)
        yield "  ".join(f"{cell:{width}}" for cell, width in padded).rstrip()
        for name in below.split() if number else ():
            if text := _cell(rows[number - 1].get(name)):
                yield f"    {name}: {text}"
    yield from (_cell(item) for item in items if not isinstance(item, Mapping))


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case Mapping():
            return ", ".join(f"{name} {_cell(each)}" for name, each in value.items())
        case list() | tuple():
            return ", ".join(map(_cell, value))
    return one_line(str(value))


def one_line(text: str) -> str:
    """Return an agent's text for a terminal: on one line, without the characters that steer one."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def print_output(output: Output, *, as_json: bool) -> None:
    """Print the output of a command."""
    if as_json:
        print_json(output.wire())
    else:
        say("\n".join(output.lines()))


def print_json(content: Mapping[str, object]) -> None:
    """Print one JSON object: indented for a person, compact for a pipe."""
    shape = {"indent": 2} if sys.stdout.isatty() else {"separators": (",", ":")}
    say(json.dumps(content, ensure_ascii=False, **shape))


def progress(what: str) -> Callable[[int, int], None]:
    """Return a function that shows a person on stderr how far a long command is, and a pipe
    nothing.
    """

    def step(finished: int, total: int) -> None:
        if sys.stderr.isatty():
            ending = "\n" if finished == total else ""
            sys.stderr.write(f"\r{what}: {finished} of {total}{ending}")

    return step


def with_consent(
    given: argparse.Namespace, preview: Output, question: str, work: Callable[[], Output]
) -> Output | int:
    """Show a person what would happen, ask, and do it; with --dry-run it is the answer."""
    if given.dry_run:
        return preview
    if not given.yes:
        complain("\n".join(preview.lines()))
        if not agreed(question):
            return EXIT_NO
    return work()


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


def stdin_text(name: str) -> str:
    """Return all of stdin, which stands for an argument. Raises InvalidArgumentError for bytes that
    are not UTF-8, and shows none of them: they may be a secret.
    """
    text = sys.stdin.read()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"{name}: stdin is not UTF-8 text (character {error.start})"
        ) from error
    return text


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
