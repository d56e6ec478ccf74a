"""What consolidation must look at again: the part of the fleet's memory that changed since its last run."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.lifecycle.stamping import without_marks
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.waiting import Learnt, Ruling

DAY_S: Final = 86_400.0


def changed_domains(program: Program) -> set[str]:
    """Return the domains of a program that consolidation must look at again."""
    pending = (program.patterns.get(id_) for id_ in program.pending)
    return {*program.touched, *(pattern.domain for pattern in pending if pattern is not None)}


def learnt(program: Program, now: datetime) -> list[Learnt]:
    """Return a program's active lessons as comparison needs them."""
    return [
        learnt_of(program, pattern)
        for pattern in program.patterns.values()
        if not is_stale(pattern, now, program.decay)
    ]


def learnt_of(program: Program, pattern: Pattern) -> Learnt:
    """Return one lesson of a program as comparison needs it."""
    return Learnt(
        program.program_id,
        pattern.id,
        pattern.domain,
        pattern.pattern,
        pattern.words,
        pattern.confidence,
        pattern.discovered_at.timestamp(),
        pattern.last_reinforced.timestamp() + program.decay.max_age * DAY_S,
        pattern.session_id,
        pattern.project_id,
        pattern.knowledge_key,
        {other: Ruling(v.same, v.judge, v.contributed) for other, v in pattern.verdicts.items()},
    )


def considered(now: Program, seen: Program, looked_at: Collection[str]) -> Program:
    """Return the program as it is now without what a run that saw `seen` has looked at, domain by domain.

    A lesson that changed meanwhile keeps its domain touched, or stays pending, for the next run. Vectors that the run
    made are kept.
    """
    stirred = {
        pattern.domain
        for one, other in ((now, seen), (seen, now))
        for id_, pattern in one.patterns.items()
        if _differ(pattern, other.patterns.get(id_))
    }
    settled = set(looked_at) - stirred
    pending = tuple(id_ for id_ in now.pending if now.patterns[id_].domain not in settled)
    renewed = {
        id_: replace(pattern, vector=seen.patterns[id_].vector, embedder=seen.patterns[id_].embedder)
        for id_, pattern in now.patterns.items()
        if id_ in seen.patterns
        and pattern.pattern == seen.patterns[id_].pattern
        and pattern.embedder != seen.patterns[id_].embedder
    }
    patterns = {**now.patterns, **renewed} if renewed else now.patterns
    left = tuple(domain for domain in now.touched if domain not in settled)
    return replace(now, patterns=patterns, pending=pending, touched=left)


def _differ(one: Pattern, other: Pattern | None) -> bool:
    if one is other or other is None:
        return other is None
    return without_marks(one) != without_marks(other)


def first_stale(lessons: Sequence[Learnt]) -> float | None:
    """Return when the first of these lessons turns stale, in seconds since 1970; None for none."""
    return min((one.stale_at for one in lessons), default=None)
