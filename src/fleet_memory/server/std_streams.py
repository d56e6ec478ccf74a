"""Takes stdin and stdout away from everything but the protocol. Light: it runs before the imports
that might print.
"""

import os
from typing import BinaryIO, NamedTuple


class Wire(NamedTuple):
    """Where frames come from and go to; one JSON-RPC message a line."""

    source: BinaryIO
    sink: BinaryIO


def claim_streams() -> Wire:
    """Return the wire; from here on a print goes to stderr, and a child process reads an empty
    stdin.

    It is never given back: prints during the exit miss the wire too.
    """
    source, sink = os.dup(0), os.dup(1)  # not inherited by children
    _divert(0, os.open(os.devnull, os.O_RDONLY))
    _divert(1, _stray_output())
    return Wire(os.fdopen(source, "rb", closefd=False), os.fdopen(sink, "wb", closefd=False))


def _divert(descriptor: int, target: int) -> None:
    os.dup2(target, descriptor)
    os.close(target)


def _stray_output() -> int:
    try:
        return os.dup(2)
    except OSError:  # started without stderr
        return os.open(os.devnull, os.O_WRONLY)
