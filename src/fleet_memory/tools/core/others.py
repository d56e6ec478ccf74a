"""Lessons of single programs in the answers of recall and boot: ranked, chosen, and noted as shown
before the answer leaves.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, NamedTuple

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.others import Others, read_others
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.rules.asking import with_shown
from fleet_memory.rules.lifecycle.decay import strengths
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.retrieval.others import choose_others, keys_of_others
from fleet_memory.rules.retrieval.ranking import RecallFilters
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.schemas.knowledge import Snapshot
from fleet_memory.schemas.patterns import OthersLesson
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import Value
from fleet_memory.tools.retrieval import Question, ranked


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
    """The lessons of other programs, best first by a question, and the scores by program and id."""

    others: Others = Others()
    lessons: Sequence[OthersLesson] = ()
    scores: Mapping[tuple[str, str], float] = {}

    def chosen(
        self, reader: Program, filters: RecallFilters, snapshot: Snapshot, now: datetime, limit: int
    ) -> list[OthersLesson]:
        """Return the best lessons that a program may be shown."""
        words = self.others.words
        return [*islice(choose_others(reader, self.lessons, filters, snapshot, words, now), limit)]

    def answers(self, chosen: Sequence[OthersLesson], snapshot: Snapshot) -> list[OthersAnswer]:
        """Return lessons as an agent reads them."""
        plain = {knowledge_key(each.domain, each.pattern) for each in chosen}
        near = [
            each
            for each in self.others.lessons
            if knowledge_key(each.domain, each.pattern) in plain
        ]
        keys = keys_of_others(near, snapshot)
        confirmed = {key: about.confirmed for key, about in self.others.words.items()}
        return [
            OthersAnswer(
                key=keys[each.program_id, each.id],
                by=each.program_id,
                pattern=each.pattern,
                domain=each.domain,
                evidence=each.evidence or None,
                confidence=round(each.confidence, 2),
                confirmed=confirmed.get(each.knowledge_key or "") or None,
                score=round(self.scores[each.program_id, each.id], 3),
            )
            for each in chosen
        ]


async def ranked_others(fleet: Fleet, program_id: str, question: Question | None) -> RankedOthers:
    """Return the lessons of other programs by a question of a program; none without a question, for
    a caller that only reads the program, and under `sharing: knowledge`.

    The snapshot was read before. Billed as `read_others`.
    """
    if question is None or not fleet.caller.may_write(program_id):
        return RankedOthers()
    others = await read_others(fleet)
    pool = others.lessons
    if not pool:
        return RankedOthers()
    best = ranked(pool, strengths(pool, fleet.now()), question)
    places = [(pool[match.position], match.score) for match in best]
    return RankedOthers(
        others,
        [lesson for lesson, _ in places],
        {(lesson.program_id, lesson.id): score for lesson, score in places},
    )


async def note_shown(
    fleet: Fleet, reader: VersionedProgram, shown: Sequence[OthersLesson], now: datetime
) -> None:
    """Store that a program was shown lessons of others, before the answer leaves. Billed 1 write,
    nothing where each was shown before.
    """
    texts = {lesson.words: now for lesson in shown}
    if not texts.keys() <= reader.program.shown.keys():
        await fleet.programs.update(
            reader.program.program_id,
            lambda program: ProgramChange(with_shown(program, texts)),
            now,
            reader,
        )
