"""`fleet-memory health`: the state of the fleet's memory, or of one program's with --program: the
advice first, then the few numbers that it follows from.
"""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from fleet_memory.cli.call import UNHEALTHY
from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.model_run import model_line
from fleet_memory.cli.printing import add_json_flag, print_json, say, table_lines
from fleet_memory.cli.settings_flags import OWN_MEMORY
from fleet_memory.errors import EXIT_NO
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import existing_program
from fleet_memory.rules.knowledge.freshness import NOBODY_PROPOSES
from fleet_memory.rules.text.counting import counted
from fleet_memory.settings import Settings
from fleet_memory.tools.health import (
    FleetHealthAnswer,
    HealthAnswer,
    fleet_health,
    memory_health,
)

EXAMPLE: Final = "fleet-memory health --program basher"
USES: Final = OWN_MEMORY
_MAX_TOKENS: Final = 10_000  # room for 25 contested entries; chosen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the health that was asked for; 1 when the verdict is not a good one, or no server
    proposes pairs.
    """
    answer = health_of(settings)
    if given.json:
        print_json(answer.wire())
    else:
        say("\n".join(report(answer, settings.fleet)))
    unattended = NOBODY_PROPOSES in answer.freshness.reason
    return EXIT_NO if unattended or answer.verdict in UNHEALTHY else 0


def health_of(settings: Settings) -> HealthAnswer | FleetHealthAnswer:
    """Return the health of the program that the settings name, of the whole fleet if they name
    none.

    Raises UnknownProgramError.
    """
    program = settings.program
    if program is None:
        return with_memory(settings, lambda fleet: fleet_health(fleet, _MAX_TOKENS))

    async def existing(fleet: Fleet) -> HealthAnswer:
        answer = await memory_health(fleet, program)
        if answer.exists is False:
            await existing_program(fleet, program)
        return answer

    return with_memory(settings, existing)


def report(answer: HealthAnswer | FleetHealthAnswer, fleet: str) -> list[str]:
    """Return the lines to print about a program, or about the fleet of that name."""
    if isinstance(answer, HealthAnswer):
        name, rows = answer.program_id, _program(answer)
    else:
        name, rows = f"fleet {fleet}", _fleet(answer)
    rows["waiting"] = [answer.freshness.reason]
    if answer.similarity_engine:
        rows["engine"] = [
            f"{answer.similarity_engine} stands in for the embedder: `fleet-memory check` says why"
        ]
    return [
        f"{name}: {answer.verdict}",
        *(answer.advice or ["Nothing to do."]),
        "",
        *table_lines(rows),
    ]


def _program(answer: HealthAnswer) -> dict[str, list[str]]:
    unpromoted, cap = (
        answer.total_patterns - answer.promoted_patterns,
        answer.decay_config.max_unpromoted_patterns,
    )
    return {
        "lessons": [
            _lessons(answer.active_patterns, answer.stale_patterns, answer.promoted_patterns)
        ],
        "cap used": [
            f"{min(unpromoted, cap)} of {cap}"
            + (f"; {unpromoted - cap} more on pages" if unpromoted > cap else "")
        ],
        "fading": [
            *(
                f"in {each.stale_in_days:g} days {each.id}: {each.pattern}"
                for each in answer.fading_soon
            ),
            *_more((answer.omitted or {}).get("fadingSoon")),
        ],
    }


def _fleet(answer: FleetHealthAnswer) -> dict[str, list[str]]:
    lessons, entries, left = answer.patterns, asdict(answer.knowledge), answer.omitted or {}
    del entries["constitutional"]  # rules of people, which are in one of the other states too
    missing = [f"{counted(each.times, 'session')}: {each.text}" for each in answer.missing or ()]
    contested = [f"{each.key}: {each.pattern}" for each in answer.contested or ()]
    relearnt = [
        f"{each.key} by {counted(each.relearnt, 'lesson')}" for each in answer.relearnt or ()
    ]
    unwell = [
        f"{each.program_id} {each.verdict}, {each.stale} of {each.total} stale"
        for each in answer.unwell or ()
    ]
    verdicts = {**(answer.verdicts or {}), "that changed longer ago": left.get("programs", 0)}
    return {
        "missing": [*missing, *_more(left.get("missing"))],
        "contested": [*contested, *_more(left.get("contested"))],
        "relearnt": [*relearnt, *_more(left.get("relearnt"))],
        "programs": [_counted_parts(answer.programs, verdicts)],
        "not well": [*unwell, *_more(left.get("unwell"))],
        "lessons": [_lessons(lessons.active, lessons.stale, lessons.promoted)],
        "knowledge": [_counted_parts(sum(entries.values()), entries)],
        "model": [model_line(answer.judge_model)] if answer.judge_model else [],
    }


def _lessons(active: int, stale: int, contributing: int) -> str:
    """Return e.g. "3: 2 active, 1 stale; 2 of them contribute to entries", which may be
    candidates.
    """
    if not (total := active + stale):
        return "none"
    verb = "contributes" if contributing == 1 else "contribute"
    return f"{total}: {active} active, {stale} stale" + (
        f"; {contributing} of them {verb} to entries" if contributing else ""
    )


def _counted_parts(total: int, parts: Mapping[str, int]) -> str:
    """Return e.g. "3: 2 healthy, 1 hoarding", "3" without parts; parts of nothing are left out."""
    shown = ", ".join(f"{count} {name}" for name, count in parts.items() if count)
    return (f"{total}: {shown}" if shown else str(total)) if total else "none"


def _more(count: int | None) -> list[str]:
    """Return the line that counts items which are left out."""
    return [f"and {count} more"] if count else []
