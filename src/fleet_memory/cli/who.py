"""`fleet-memory who`: list the programs, with their lessons, the entries that have these, and when
each was seen.
"""

import argparse
from collections import defaultdict
from typing import Final, NamedTuple

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import (
    add_json_flag,
    add_limit_flag,
    omitted_line,
    print_answer,
    with_omitted,
)
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import LatestPrograms, existing_program, latest_programs
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.fields import format_instant
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory who --program basher"
USES: Final = ("store", "fleet", "program", "now")
MAX_KEYS_IN_LINE: Final = 3  # entries that a program's line names; chosen


class ProgramRow(NamedTuple):
    """A program as `who` shows it: its lessons are counted, the entries that it contributes to are
    named.
    """

    programId: str  # noqa: N815 as printed
    lessons: int
    entries: list[str]
    lastSeen: str  # noqa: N815 as printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_limit_flag(parser, "how many programs are shown, those that changed last")
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the programs, the one that changed last first, and how many are left out."""
    rows, omitted = with_memory(settings, lambda fleet: _rows(fleet, settings.program, given.limit))
    shown = None if settings.program else MAX_KEYS_IN_LINE
    wire = with_omitted({"programs": [row._asdict() for row in rows]}, programs=omitted)
    lines = [line for row in rows for line in _lines(row, shown)] or [
        "no program has stored anything"
    ]
    print_answer(wire, "\n".join([*lines, *omitted_line(omitted)]), as_json=given.json)
    return 0


async def _rows(fleet: Fleet, program_id: str | None, limit: int) -> tuple[list[ProgramRow], int]:
    if program_id is None:
        latest = await latest_programs(fleet, limit)
    else:
        latest = LatestPrograms([await existing_program(fleet, program_id)], 0)
    keys: dict[str, list[str]] = defaultdict(list)
    for entry in (await fleet.knowledge.snapshots.read()).readable:
        for contributor in entry.contributors:
            keys[contributor].append(entry.key)
    rows = [
        ProgramRow(
            program.program_id,
            program.patterns_count,
            sorted(keys[program.program_id]),
            format_instant(program.last_update),
        )
        for program in latest.programs
        if program.last_update is not None
    ]
    return rows, latest.omitted


def _lines(row: ProgramRow, shown: int | None) -> list[str]:
    """Return a program's line, with the keys of all its entries, or of the first below it."""
    entries, more = row.entries[:shown], len(row.entries[shown:]) if shown else 0
    return [
        f"{row.programId}: {counted(row.lessons, 'lesson')}, "
        f"{counted(len(row.entries), 'entry', 'entries')}, "
        f"last seen {row.lastSeen[:10]}",
        *(f"  {key}" for key in entries),
        *([f"  and {more} more; --program {row.programId} shows them"] if more else []),
    ]
