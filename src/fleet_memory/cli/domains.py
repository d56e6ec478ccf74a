"""`fleet-memory domains`: list the domains with their entries and lessons, the commonest first."""

import argparse
from collections import Counter
from typing import Final

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
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory domains --program basher"
USES: Final = ("store", "fleet", "program", "now")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_limit_flag(parser, "how many domains are listed", default=50, limit=1_000)
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the domains, and how many domains and programs are left out."""
    program = settings.program
    entries, lessons, unread = with_memory(settings, lambda fleet: _counts(fleet, program))
    names = sorted(entries | lessons, key=lambda name: (-entries[name] - lessons[name], name))
    rows = [
        {"domain": name, "entries": entries[name], "lessons": lessons[name]}
        for name in names[: given.limit]
    ]
    more = len(names) - len(rows)
    lines = [
        f"{name}: {counted(entries[name], 'entry', 'entries')}, {counted(lessons[name], 'lesson')}"
        for name in names[: given.limit]
    ] or ["no domain yet"]
    if unread:
        lines.append(
            f"without the lessons of {counted(unread, 'program')} that changed before the others"
        )
    wire = with_omitted({"domains": rows}, domains=more, programs=unread)
    print_answer(wire, "\n".join([*lines, *omitted_line(more)]), as_json=given.json)
    return 0


async def _counts(fleet: Fleet, program_id: str | None) -> tuple[Counter[str], Counter[str], int]:
    """Return the entries and the lessons by domain, of one program or of those that changed last,
    less their pages.
    """
    if program_id is None:
        latest = await latest_programs(fleet)
    else:
        latest = LatestPrograms([await existing_program(fleet, program_id)], 0)
    rows = (await fleet.knowledge.snapshots.read()).readable
    entries = Counter(
        row.domain for row in rows if program_id is None or program_id in row.contributors
    )
    lessons = Counter(
        lesson.domain for program in latest.programs for lesson in program.patterns.values()
    )
    return entries, lessons, latest.omitted
