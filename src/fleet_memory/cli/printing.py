"""What commands print: JSON for programs, tables and bars for people. The light half of the command line."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from fleet_memory.errors import EXIT_INTERNAL, FleetMemoryError

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


def refused(refusal: str) -> int:
    """Tell a tool's refusal and return the exit code of its error."""
    complain(refusal)
    return _exit_codes().get(refusal.partition(":")[0], EXIT_INTERNAL)


def _exit_codes() -> dict[str, int]:
    kinds = [FleetMemoryError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.code: kind.exit_code for kind in kinds}


class ProgressBar(Protocol):
    """What a long command calls as it goes."""

    def __call__(self, done: int, total: int, message: str | None = None) -> None:
        """Move the bar; a message becomes its name."""


@contextmanager
def progress(what: str) -> Iterator[ProgressBar]:
    """Show a bar on stderr to a person, nothing to a pipe."""
    from rich.console import Console  # noqa: PLC0415 only for people
    from rich.progress import Progress  # noqa: PLC0415 the same

    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, message=None: bar.update(task, completed=done, total=total, description=message)


def print_json(content: Mapping[str, object]) -> None:
    """Print one JSON object: indented for a person, compact for a pipe, escaped where stdout takes no UTF-8."""
    plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    shape = {"indent": 2} if sys.stdout.isatty() else {"separators": (",", ":")}
    say(json.dumps(content, ensure_ascii=plain, **shape))


def print_table(rows: Mapping[str, object]) -> None:
    """Print names and values side by side."""
    from rich.console import Console  # noqa: PLC0415 only for people
    from rich.table import Table  # noqa: PLC0415 the same

    table = Table(show_header=False)
    for name, value in rows.items():
        table.add_row(name, str(value))
    Console().print(table)


def agreed(question: str = "Write this?") -> bool:
    """Ask a person; without a terminal nobody can agree."""
    if not sys.stdin.isatty():
        complain("nothing was changed: pass --yes, or run this in a terminal and answer")
        return False
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def say(text: str) -> None:
    """Print to stdout."""
    print(text)  # noqa: T201 this is the command line


def complain(text: str) -> None:
    """Print to stderr."""
    print(f"fleet-memory: {text}", file=sys.stderr)  # noqa: T201 this is the command line
