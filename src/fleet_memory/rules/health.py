"""What a program's numbers say: a verdict, and advice that follows from it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from fleet_memory.rules.decay import is_stale, stale_in_days
from fleet_memory.schemas.answers import FadingPattern, Verdict
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

FADING_WITHIN_DAYS: Final = 14.0
MOST_FADING: Final = 5
FORGETTING_FROM: Final = 0.5  # stale share; Source: the article: a high stale-to-active ratio means forgetting
HOARDING_FROM: Final = 0.9  # share of the cap that is used
UNREINFORCED_FROM: Final = 10  # patterns, none of them ever reinforced


def stale_ratio(program: Program, now: datetime) -> float:
    """Return the share of patterns that are stale, 0 for none."""
    stale = sum(is_stale(pattern, now, program.decay) for pattern in program.patterns.values())
    return round(stale / len(program.patterns), 4) if program.patterns else 0.0


def verdict(program: Program, now: datetime) -> Verdict:
    """Return the one word for a program's memory; the gravest that applies."""
    patterns = program.patterns.values()
    unpromoted = sum(not pattern.promoted for pattern in patterns)
    if not patterns:
        return "empty"
    if stale_ratio(program, now) >= FORGETTING_FROM:
        return "forgetting"
    if unpromoted >= HOARDING_FROM * program.decay.max_unpromoted_patterns:
        return "hoarding"
    if len(patterns) >= UNREINFORCED_FROM and not any(pattern.confirmations for pattern in patterns):
        return "unreinforced"
    return "healthy"


def advice(program: Program, now: datetime) -> tuple[str, ...]:
    """Return what to do next, the most useful first; nothing for a healthy memory."""
    said: dict[Verdict, str] = {
        "empty": "Nothing is stored yet. Call store_memory when you learn something that will help you next time.",
        "forgetting": "You forget faster than you learn. Call reinforce_memory for each lesson that still holds, "
        "and store lessons that generalise.",
        "hoarding": "You are near the cap; the weakest lesson is archived when the next one is stored. "
        "Reinforce those that help instead of storing more.",
        "unreinforced": "You never reinforced a lesson. Call reinforce_memory when one proves true or false.",
    }
    found = verdict(program, now)
    lines = [said[found]] if found in said else []
    if found != "forgetting" and (fading := fading_soon(program, now)):
        lines.append(f"{len(fading)} of your lessons will be stale within 14 days: reinforce what still holds.")
    return tuple(lines)


def fading_soon(program: Program, now: datetime) -> tuple[FadingPattern, ...]:
    """Return the patterns that turn stale within 14 days, the soonest first, at most five."""
    soon: Sequence[tuple[float, Pattern]] = sorted(
        ((stale_in_days(p, now, program.decay), p) for p in program.patterns.values()),
        key=lambda pair: (pair[0], pair[1].id),
    )
    return tuple(
        FadingPattern(id=pattern.id, pattern=pattern.pattern, stale_in_days=round(days, 1))
        for days, pattern in soon
        if 0 <= days <= FADING_WITHIN_DAYS
    )[:MOST_FADING]
