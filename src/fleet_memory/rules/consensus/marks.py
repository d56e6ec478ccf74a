"""The marks of consolidation on a program's lessons: verdicts, and the entry that a lesson belongs to."""

from dataclasses import replace

from fleet_memory.rules.lifecycle.stamping import ProgramChange, touched
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.waiting import Learnt


def with_verdict(program: Program, pattern_id: str, other: str, verdict: Verdict) -> ProgramChange:
    """Return the program with a verdict about one of its lessons and the text whose hash is `other`.

    It is the same object when the lesson has that verdict already or is gone. Nothing is archived.
    """
    pattern = program.patterns.get(pattern_id)
    if pattern is None or pattern.verdicts.get(other) == verdict:
        return ProgramChange(program)
    judged = replace(pattern, verdicts={**pattern.verdicts, other: verdict})
    patterns = {**program.patterns, pattern_id: judged}
    return ProgramChange(replace(program, patterns=patterns))


def with_entry(program: Program, pattern_id: str, key: str, *, echo: bool = False) -> Program:
    """Return the program with one of its lessons in the entry `key`: no longer pending, and no vote if an `echo`.

    The lesson's domain becomes touched, so that the next run reads it again if this one ends before it has
    written its index.
    """
    pattern = program.patterns[pattern_id]
    return replace(
        program,
        patterns={**program.patterns, pattern_id: replace(pattern, knowledge_key=key, echo=echo)},
        pending=tuple(id_ for id_ in program.pending if id_ != pattern_id),
        touched=touched(program, pattern.domain),
    )


def is_as_compared(program: Program, lesson: Learnt) -> bool:
    """Whether a program's lesson still has the text and domain that were compared, and is in no entry yet."""
    pattern = program.patterns.get(lesson.pattern_id)
    return (
        pattern is not None
        and pattern.knowledge_key is None
        and (pattern.pattern, pattern.domain) == (lesson.text, lesson.domain)
    )
