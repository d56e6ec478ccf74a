"""The report of `fleet-memory health`: the advice first, then the few numbers that it follows
from.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.model_run import model_line
from fleet_memory.cli.printing import table_lines
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import existing_program
from fleet_memory.rules.health.fleet import HORIZONS
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.answers.health import FleetHealthAnswer, HealthAnswer
from fleet_memory.schemas.fields import format_instant
from fleet_memory.settings import Settings
from fleet_memory.tools.fleet_health import fleet_health
from fleet_memory.tools.memory_health import memory_health

_MAX_TOKENS: Final = 10_000  # room for 25 contested entries; chosen
_RATES: Final = {
    "junk": "of all lessons ever stored were archived unused",
    "echo": "of the active ones repeat what their program had read",
    "duplicate": "of the active ones say what an earlier one says",
    "never_reinforced": "were never reinforced",
}


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
        f"{name}: {answer.verdict or 'not counted yet'}",
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
    shares = asdict(answer.rates) if answer.rates else {}
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
    stale, verify = (
        ((last := answer.forecast[-1]).stale, last.verify) if answer.forecast else (0, 0)
    )
    fading = "" if stale is None else f"{counted(stale, 'more lesson')} stale, "
    return {
        "missing": [*missing, *_more(left.get("missing"))],
        "contested": [*contested, *_more(left.get("contested"))],
        "relearnt": [*relearnt, *_more(left.get("relearnt"))],
        "programs": [_counted_parts(answer.programs, answer.verdicts or {})],
        "not well": [*unwell, *_more(left.get("unwell"))],
        "lessons": [_lessons(lessons.active, lessons.stale, lessons.promoted)] if lessons else [],
        "rates": [f"{share:.0%} {_RATES[name]}" for name, share in shares.items() if share],
        "knowledge": [_counted_parts(sum(entries.values()), entries)],
        "as of": [f"{format_instant(answer.as_of)}, when a run counted the lessons"]
        if answer.as_of
        else [],
        "model": [model_line(answer.judge_model)] if answer.judge_model else [],
        "soon": [
            f"in {HORIZONS[-1]} days {fading}{counted(verify, 'more entry', 'more entries')} "
            "to verify"
        ],
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
