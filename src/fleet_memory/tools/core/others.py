"""Lessons of single programs in the answers of recall and boot: ranked, chosen, and noted as shown
before the answer leaves.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, NamedTuple

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.others import Others, read_others, still_told
from fleet_memory.repositories.shelf import MAX_CHANGED_READ
from fleet_memory.rules.lifecycle.decay import strengths
from fleet_memory.rules.retrieval.others import (
    MAX_OTHERS_AT_BOOT,
    choose_others,
    keys_of_others,
)
from fleet_memory.rules.retrieval.ranking import MIN_RELEVANCE, Match, RecallFilters
from fleet_memory.schemas.knowledge import Snapshot
from fleet_memory.schemas.patterns import OthersLesson
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import Value
from fleet_memory.tools.retrieval import Question, embed_question, ranked


class OthersAnswer(Value):
    """A lesson of one other program, which is no knowledge yet."""

    key: Annotated[str, Field(description="Names it for reinforce_memory")]
    by: str
    pattern: str
    domain: str
    evidence: Annotated[str | None, Field(description="Its first sentences")] = None
    confidence: float
    confirmed: Annotated[int | None, Field(description="Programs that saw it true")] = None
    score: float


class RankedOthers(NamedTuple):
    """The lessons of other programs, and those that a question finds, best first."""

    others: Others = Others()
    best: Sequence[Match[OthersLesson]] = ()

    def chosen(
        self, reader: Program, filters: RecallFilters, snapshot: Snapshot, now: datetime, limit: int
    ) -> list[Match[OthersLesson]]:
        """Return the best lessons that a program may be shown."""
        found = choose_others(reader, self.best, filters, snapshot, self.others.words, now)
        return [*islice(found, limit)]

    def answers(
        self, chosen: Sequence[Match[OthersLesson]], snapshot: Snapshot
    ) -> list[OthersAnswer]:
        """Return lessons as an agent reads them."""
        plain = {match.lesson.plain_key for match in chosen}
        near = [each for each in self.others.lessons if each.plain_key in plain]
        keys = keys_of_others(near, snapshot)
        confirmed = {key: about.confirmed for key, about in self.others.words.items()}
        return [
            OthersAnswer(
                key=keys[lesson.program_id, lesson.id],
                by=lesson.program_id,
                pattern=lesson.pattern,
                domain=lesson.domain,
                evidence=lesson.evidence or None,
                confidence=round(lesson.confidence, 2),
                confirmed=sum(confirmed.get(key, 0) for key in lesson.knowledge_keys) or None,
                score=round(score, 3),
            )
            for lesson, score, _ in chosen
        ]


async def others_for_task(fleet: Fleet, program_id: str, task: str) -> dict[str, OthersLesson]:
    """Return by key the lessons of others that a boot with a task has, those that fit it.

    The caller notes those that it shows (`jobs.auditing.note_reading`). Billed as `ranked_others`,
    1 read and the snapshot.
    """
    snapshot = await fleet.knowledge.snapshots.read()
    ranked = await ranked_others(fleet, program_id, await embed_question(fleet, task))
    reader = await fleet.programs.read(program_id)
    best = ranked.chosen(reader, RecallFilters(), snapshot, fleet.now(), MAX_OTHERS_AT_BOOT)
    told = [match for match in best if match.score >= MIN_RELEVANCE]
    answers = ranked.answers(told, snapshot)
    return {each.key: match.lesson for each, match in zip(answers, told, strict=True)}


async def ranked_others(fleet: Fleet, program_id: str, question: Question | None) -> RankedOthers:
    """Return the lessons of other programs by a question of a program; none without a question, for
    a caller that only reads the program, and under `sharing: knowledge`.

    The snapshot was read before. Billed as `read_others`; where that is behind, up to 20 reads
    more: then the best 20 lessons are asked of their programs, and no others come.
    """
    if question is None or not fleet.caller.may_write(program_id):
        return RankedOthers()
    others = await read_others(fleet)
    if not others.lessons:
        return RankedOthers()
    best = ranked(others.lessons, strengths(others.lessons, fleet.now()), question)
    if others.is_behind:
        told = await still_told(fleet, [match.lesson for match in best[:MAX_CHANGED_READ]])
        best = [match for match in best if (match.lesson.program_id, match.lesson.id) in told]
    return RankedOthers(others, best)
