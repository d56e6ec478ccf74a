"""`fleet-memory who`: list the programs, with their lessons, the entries that have these, and when each was seen."""

import argparse
from collections import defaultdict
from typing import Final, NamedTuple

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, add_limit_flag, omitted_line, print_answer, with_omitted
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import LatestPrograms, existing_program, latest_programs
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.fields import format_instant
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory who --program basher"
USES: Final = ("store", "fleet", "program", "now")
MAX_KEYS_IN_LINE: Final = 3  # entries that a program's line names; chosen


class Agent(NamedTuple):
    """A program as `who` shows it: its lessons are counted, the entries that it contributes to are named."""

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
    agents, omitted = with_memory(settings, lambda fleet: _agents(fleet, settings.program, given.limit))
    shown = None if settings.program else MAX_KEYS_IN_LINE
    wire = with_omitted({"programs": [agent._asdict() for agent in agents]}, programs=omitted)
    lines = [line for agent in agents for line in _lines(agent, shown)] or ["no program has stored anything"]
    print_answer(wire, "\n".join([*lines, *omitted_line(omitted)]), as_json=given.json)
    return 0


async def _agents(fleet: Fleet, program_id: str | None, limit: int) -> tuple[list[Agent], int]:
    if program_id is None:
        latest = await latest_programs(fleet, limit)
    else:
        latest = LatestPrograms([await existing_program(fleet, program_id)], 0)
    keys: dict[str, list[str]] = defaultdict(list)
    for row in (await fleet.knowledge.snapshots.read()).readable:
        for contributor in row.contributors:
            keys[contributor].append(row.key)
    agents = [
        Agent(
            program.program_id,
            program.patterns_count,
            sorted(keys[program.program_id]),
            format_instant(program.last_update),
        )
        for program in latest.programs
        if program.last_update is not None
    ]
    return agents, latest.omitted


def _lines(agent: Agent, shown: int | None) -> list[str]:
    """Return a program's line, with the keys of all its entries, or of the first below it."""
    entries, more = agent.entries[:shown], len(agent.entries[shown:]) if shown else 0
    return [
        f"{agent.programId}: {counted(agent.lessons, 'lesson')}, {counted(len(agent.entries), 'entry', 'entries')}, "
        f"last seen {agent.lastSeen[:10]}",
        *(f"  {key}" for key in entries),
        *([f"  and {more} more; --program {agent.programId} shows them"] if more else []),
    ]
