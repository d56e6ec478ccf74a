"""What consolidation must look at again: the part of the fleet's memory that changed since its last run."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from fleet_memory.rules.decay import is_stale
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.waiting import Learnt


def touched(program: Program, *domains: str) -> tuple[str, ...]:
    """Return the domains in which a program's lessons changed since consolidation last looked, with these."""
    return tuple(sorted({*program.touched, *domains}))


def changed_domains(program: Program) -> set[str]:
    """Return the domains of a program that consolidation must look at again."""
    pending = (program.patterns.get(id_) for id_ in program.pending)
    return {*program.touched, *(pattern.domain for pattern in pending if pattern is not None)}


def learnt(program: Program, now: datetime) -> list[Learnt]:
    """Return a program's active lessons as comparison needs them: with their vectors, without their evidence."""
    return [
        Learnt(
            program_id=program.program_id,
            pattern=pattern.changed(evidence="", evidence_log=(), calls={}, tags=()),
            stale_at=pattern.last_reinforced + timedelta(days=program.decay.max_age),
        )
        for pattern in program.patterns.values()
        if not is_stale(pattern, now, program.decay)
    ]


def considered(now: Program, seen: Program, looked_at: Collection[str]) -> Program:
    """Return the program as it is now without what a run that saw `seen` has looked at, domain by domain.

    A lesson that changed meanwhile keeps its domain touched, or stays pending, for the next run. Vectors that the run
    made are kept.
    """
    stirred = {
        pattern.domain
        for one, other in ((now, seen), (seen, now))
        for id_, pattern in one.patterns.items()
        if _unmarked(pattern) != _unmarked(other.patterns.get(id_))
    }
    settled = set(looked_at) - stirred
    pending = tuple(id_ for id_ in now.pending if now.patterns[id_].domain not in settled)
    renewed = {
        id_: pattern.changed(vector=seen.patterns[id_].vector, embedder=seen.patterns[id_].embedder)
        for id_, pattern in now.patterns.items()
        if id_ in seen.patterns
        and pattern.pattern == seen.patterns[id_].pattern
        and pattern.embedder != seen.patterns[id_].embedder
    }
    patterns = {**now.patterns, **renewed} if renewed else now.patterns
    left = tuple(domain for domain in now.touched if domain not in settled)
    return now.changed(patterns=patterns, pending=pending, touched=left)


def _unmarked(pattern: Pattern | None) -> Pattern | None:
    # Consolidation's own marks, and the vectors it makes anew, are no news to it.
    return pattern and pattern.changed(knowledge_key=None, echo=False, vector="", embedder="")


def first_stale(lessons: Sequence[Learnt]) -> datetime | None:
    """Return when the first of these lessons turns stale, None for none."""
    return min((one.stale_at for one in lessons), default=None)
