"""Bars for people at a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import Progress


class ProgressBar(Protocol):
    """The progress callback of a long command."""

    def __call__(self, finished: int, total: int, message: str | None = None) -> None:
        """Move the bar; a message becomes its name."""


@contextmanager
def progress_bar(what: str) -> Iterator[ProgressBar]:
    """Show a bar on stderr to a person, nothing to a pipe."""
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda finished, total, message=None: bar.update(
            task, completed=finished, total=total, description=message
        )
