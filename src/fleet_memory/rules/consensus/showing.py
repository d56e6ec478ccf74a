"""Which texts of others a program was shown before they were knowledge."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from fleet_memory.schemas.programs import Program

MAX_SHOWN: Final = 256  # hashes of texts that a program was shown; Source: docs/consensus.md


def with_shown(program: Program, texts: Mapping[str, datetime]) -> Program:
    """Return the program after it was shown texts, by their hashes: the newest 256, each with its
    first time.
    """
    shown = {**texts, **program.shown}
    if shown == program.shown:
        return program
    newest = sorted(shown.items(), key=lambda item: (item[1], item[0]))[-MAX_SHOWN:]
    return replace(program, shown=dict(newest))
