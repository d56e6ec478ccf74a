"""The room of a memory: the lessons at hand, and those that leave for the archive."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.lifecycle.decay import (
    is_prunable,
    is_stale,
    strength,
)
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import MAX_PATTERNS, Archived, ArchiveReason, Program


def at_hand(program: Program, now: datetime) -> Mapping[str, Pattern]:
    """Return the lessons that boot and a recall without a question show: the contributions to
    entries, and the strongest others up to the program's cap, those that are not stale first.
    """
    others = [pattern for pattern in program.patterns.values() if not pattern.promoted]
    over = len(others) - program.decay.max_unpromoted_patterns
    if over <= 0:
        return program.patterns
    beyond = {pattern.id for pattern in _weakest_first(program, others, now)[:over]}
    return {id_: pattern for id_, pattern in program.patterns.items() if id_ not in beyond}


def weakest_to_leave(
    before: Program, after: Program, excess: int, now: datetime
) -> Sequence[Pattern]:
    """Return the lessons that leave a program for its room: those over `MAX_PATTERNS`, and as many
    as have `excess` bytes. First the prunable ones, then the stale ones, each the weakest first.

    A lesson that differs from that of `before` leaves after all others, and never if it is the only
    one: the change is about it.
    """
    over = len(after.patterns) - MAX_PATTERNS
    changed = {
        id_ for id_, pattern in after.patterns.items() if before.patterns.get(id_) is not pattern
    }
    ordered = sorted(
        _weakest_first(after, [*after.patterns.values()], now),
        key=lambda pattern: pattern.id in changed,
    )
    if len(changed) == 1:
        ordered = ordered[:-1]
    leaving: list[Pattern] = []
    for pattern in ordered:
        if len(leaving) >= over and excess <= 0:
            break
        leaving.append(pattern)
        excess -= pattern.stored_bytes
    return leaving


def archived(
    program: Program,
    patterns: Sequence[Pattern],
    reason: ArchiveReason,
    now: datetime,
    why: str = "",
) -> ProgramChange:
    """Return the program without these patterns, and their lines in the archive."""
    if not patterns:
        return ProgramChange(program)
    gone = {pattern.id for pattern in patterns}
    left = {id_: pattern for id_, pattern in program.patterns.items() if id_ not in gone}
    lines = (
        Archived(program_id=program.program_id, pattern=each, reason=reason, at=now, why=why)
        for each in patterns
    )
    return ProgramChange(replace(program, patterns=left), tuple(lines))


def _weakest_first(program: Program, patterns: Sequence[Pattern], now: datetime) -> list[Pattern]:
    return sorted(
        patterns,
        key=lambda lesson: (
            not is_prunable(lesson, now, program.decay),
            not is_stale(lesson, now, program.decay),
            strength(lesson, now),
            lesson.last_reinforced,
            lesson.id,
        ),
    )
